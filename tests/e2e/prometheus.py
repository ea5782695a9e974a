"""A Prometheus of the run's own, scraping the GPUs every second."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import builds
from tests.e2e.api import Object
from tests.e2e.control_plane import answers
from tests.e2e.ports import free_ports
from tests.e2e.processes import Program, Programs

SCRAPE = 1.0
"""Seconds between two scrapes."""
READY = 30.0
EVALUATION = "30s"
"""Between two evaluations of rules."""
CLUSTER = {"cluster": "e2e"}
"""The label that tells clusters apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """One running Prometheus with data of its own."""

    programs: Programs
    program: Program
    url: str
    data: Path

    def stop(self) -> None:
        """Stop it; its data stays."""
        self.programs.stop(self.program)

    def start(self, *, empty: bool = False) -> None:
        """Start it again, with what it knew or with nothing."""
        if empty:
            shutil.rmtree(self.data)
        self.programs.again(self.program)
        self.ready()

    def ready(self) -> None:
        """Wait until it answers queries."""
        self.programs.ready(self.program, lambda: answers(f"{self.url}/-/ready"), within=READY)


def start_prometheus(
    programs: Programs,
    *,
    name: str,
    folder: Path,
    target: str,
    honor_labels: bool = False,
    jobs: Sequence[Object] = (),
    rules: Path | None = None,
) -> Prometheus:
    """Start a Prometheus that scrapes a GPU exporter, what serves requests, and further jobs.

    Without honor_labels the labels of the exporter's own pod win, as with most scrape
    configurations, and the workload's are called `exported_pod` and so on.
    """
    (port,) = free_ports(1)
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / f"{name}.json"
    written = _configuration(target, honor_labels=honor_labels, jobs=jobs, rules=rules)
    config.write_text(json.dumps(written))
    data = folder / name
    command = [
        str(builds.PROMETHEUS.program("prometheus")),
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    program = programs.start(name, command)
    started = Prometheus(
        programs=programs, program=program, url=f"http://127.0.0.1:{port}", data=data
    )
    started.ready()
    return started


def _configuration(
    target: str, *, honor_labels: bool, jobs: Sequence[Object], rules: Path | None
) -> Object:
    """Give the configuration; YAML takes JSON."""
    own = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x", "container": "exporter"}
    return {
        "global": {
            "scrape_interval": f"{SCRAPE:.0f}s",
            "scrape_timeout": f"{SCRAPE:.0f}s",
            "evaluation_interval": EVALUATION,
        },
        "rule_files": [str(rules.resolve())] if rules else [],
        "scrape_configs": [
            {
                "job_name": "dcgm",
                "honor_labels": honor_labels,
                "static_configs": [{"targets": [target], "labels": own | CLUSTER}],
            },
            {
                "job_name": "serving",
                "honor_labels": True,
                "metrics_path": "/metrics/serving",
                "static_configs": [{"targets": [target]}],
            },
            *jobs,
        ],
    }
