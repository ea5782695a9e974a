"""The demo's cluster over real HTTP, on a clock that stands still, and commands run against it."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from scaler import cli
from scaler.core.model import Kind
from scaler.sim.clock import ManualClock
from scaler.sim.cluster import Cluster
from scaler.sim.nodes import GPU
from scaler.sim.patches import Document
from scaler.sim.scenario import LLM, POOL_SCALER, VISION, furnish, policy

NOBODY = "127.0.0.1:9"
"""No scaler listens there: KEDA's double changes nothing."""
IDLE_SECONDS = 900.0


class Furnished:
    """A cluster, and the files that lead to it."""

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock()
        self.cluster = Cluster(clock=self.clock)
        self.folder = folder
        furnish(self.cluster, scaler_address=NOBODY)

    def open(self) -> None:
        """Serve, and write the kubeconfig and the policy."""
        self.cluster.start(by_hand=True)
        self.kubeconfig = self.cluster.write_kubeconfig(self.folder / "kubeconfig")
        self.policy = self.folder / "policy.yaml"
        self.policy.write_text(policy(self.cluster), encoding="utf-8")

    def pass_time(self, seconds: float) -> None:
        """Let the cluster live on, in steps of half a scrape interval."""
        for _ in range(round(seconds / 15)):
            self.clock.advance(15)
            self.cluster.step()

    def fall_idle(self) -> None:
        """Let the inference service rest for longer than idleAfter."""
        self.cluster.set_load(LLM, percent=0)
        self.pass_time(IDLE_SECONDS)

    def size_pool(self, replicas: int) -> None:
        """Let KEDA's HorizontalPodAutoscaler say how large the node pool is."""
        namespace, name = POOL_SCALER
        hpa = {
            "metadata": {
                "name": f"keda-hpa-{name}",
                "namespace": namespace,
                "labels": {"scaledobject.keda.sh/name": name},
            },
            "status": {"currentReplicas": replicas},
        }
        self.cluster.apply(Kind.HPAS, hpa)
        status = {"hpaName": f"keda-hpa-{name}"}
        self.cluster.objects.modify(
            Kind.SCALED_OBJECTS, POOL_SCALER, lambda document: document.update(status=status)
        )

    def submit(self, name: str = "a") -> None:
        """Queue four pods of five GPUs each, for which there is no node yet."""
        requests = {"cpu": "8", GPU: "5"}
        self.cluster.submit((VISION, name), pods=4, requests=requests, duration=3000)

    def serve_only(self, plural: str, *versions: str) -> None:
        """Serve a kind in these versions alone; without one it is not installed."""
        resources = self.cluster.objects.resources
        if versions:
            resources[plural] = replace(resources[plural], versions=versions)
        else:
            del resources[plural]

    def change_policy(self, old: str, new: str) -> None:
        """Edit the policy's file."""
        text = self.policy.read_text(encoding="utf-8")
        assert old in text
        self.policy.write_text(text.replace(old, new), encoding="utf-8")

    def change_trigger(self, **metadata: str) -> None:
        """Set keys of the idle trigger."""

        def change(document: Document) -> None:
            document["spec"]["triggers"][0]["metadata"].update(metadata)

        self.cluster.objects.modify(Kind.SCALED_OBJECTS, LLM, change)

    def run(self, *arguments: str, with_policy: bool = True) -> tuple[int, str]:
        """Run a command on this cluster's clock; give its exit code and output."""
        given = [*arguments, "--kubeconfig", str(self.kubeconfig)]
        if with_policy:
            given += ["--policy", str(self.policy)]
        args = cli.parser().parse_args(given)
        args.clock = self.clock.now
        out = io.StringIO()
        code = args.run(args, out)
        return code, out.getvalue()


@contextmanager
def furnished(folder: Path) -> Iterator[Furnished]:
    """Open a cluster, and close it afterwards."""
    one = Furnished(folder)
    one.open()
    try:
        yield one
    finally:
        one.cluster.stop()


def explained(folder: Path) -> tuple[int, Any]:
    """Decide from a bundle, without any cluster."""
    args = cli.parser().parse_args(["explain", "--bundle", str(folder), "-o", "json"])
    out = io.StringIO()
    code = args.run(args, out)
    return code, json.loads(out.getvalue())
