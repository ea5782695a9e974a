"""History that a restarted service gets back from a real Prometheus, which scraped it before."""

import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scaler.core.decision import Decision
from scaler.core.policy import Policy, PrometheusSettings
from scaler.core.reasons import Reason
from scaler.status.page import past
from tests.e2e.waiting import until
from tests.report import Report
from tests.status.page.stage import Stage, idle_decision, queue_decision, stage

CONFIG = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: scaler
  static_configs:
  - {{targets: ["127.0.0.1:{port}"], labels: {{namespace: kueue-gpu-scaler, pod: scaler-0}}}}
"""
"""As a PodMonitor does it: the target's namespace is not that of our metrics."""

PATIENCE = 90.0
PAGE = "trigger?namespace=team-chat&name=llm&span=1h"


def run(report: Report, *, prometheus: Path) -> None:
    """Play it."""
    with stage(clock=time.time, metrics=True) as before, _scraping(prometheus, before) as url:
        before.publish(*_decisions(Reason.BUSY), at=time.time())
        _seen(url, before, "Busy")
        before.publish(*_decisions(Reason.NO_SAMPLES), at=time.time())
        _seen(url, before, "UNKNOWN: NoSamples")
        policy = Policy(prometheus=PrometheusSettings(url=url))
        with stage(policy=policy, clock=time.time, connect=past.connect) as after:
            after.publish(*_decisions(Reason.IDLE), at=time.time())
            reasons = _reasons(after)
    restored = {"Busy", "UNKNOWN: NoSamples"} <= reasons
    report.check(
        "a restarted service shows what a real Prometheus recorded of it",
        ok=restored,
        found=reasons,
    )
    report.check("and what it sees itself", ok="Idle" in reasons, found=reasons)


def _decisions(reason: Reason) -> tuple[Decision, ...]:
    held = reason is Reason.NO_SAMPLES
    now = time.time()
    return idle_decision(reason=reason, at=now, held=held), queue_decision(at=now)


def _seen(url: str, at: Stage, reason: str) -> None:
    """Wait until a chart of Prometheus alone would have a step with that reason."""
    policy = Policy(prometheus=PrometheusSettings(url=url))
    with stage(policy=policy, clock=time.time, connect=past.connect) as alone:

        def drawn() -> bool:
            at.publish(*at.store.latest().decisions.values(), at=time.time(), changed=[])
            alone.publish(*at.store.latest().decisions.values(), at=time.time(), changed=[])
            return reason in _reasons(alone)

        until(drawn, f"a step with {reason}", within=PATIENCE, every=0.5)


def _reasons(at: Stage) -> set[str]:
    """Give the reasons that the chart names, Prometheus asked anew."""
    pages = at.server._pages
    pages._past._kept.clear()

    def heard() -> str | None:
        pages._kept.clear()
        page = at.get(PAGE)[2]
        return None if "is being asked" in page else page

    page = until(heard, "an answer of Prometheus", within=PATIENCE, every=0.2)
    legend = re.search(r'<ul class="legend">(.*?)</ul>', page)
    return set() if legend is None else set(re.findall(r"<b>(.*?)</b>", legend[1]))


@contextmanager
def _scraping(prometheus: Path, at: Stage) -> Iterator[str]:
    """Run Prometheus on the metrics of a service; give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "prometheus.yml").write_text(CONFIG.format(port=at.server.port))
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(
                [
                    prometheus,
                    f"--config.file={folder / 'prometheus.yml'}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{port}",
                ],
                stdout=log,
                stderr=log,
            )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)
