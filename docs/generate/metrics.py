"""The page of metrics, from the registries that both processes are built with."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

from docs.generate.markdown import code, page, section, sentence, table
from scaler.actuation import Actuation
from scaler.actuator.metrics import HeldCollector, Tracker
from scaler.app import App
from scaler.settings import ActuatorSettings, Address, Settings

ANY_PORT = Address(host="127.0.0.1", port=0)
HEAD = ("metric", "type", "labels", "meaning")
NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "none", "cluster": {"server": "https://127.0.0.1:1"}}],
    "users": [{"name": "none", "user": {"token": "none"}}],
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
    "current-context": "none",
}
"""A cluster that is never asked: what is built is not started."""
Described = Mapping[str, tuple[str, tuple[str, ...], str]]
"""Type, labels and help by name."""


class _Leading:
    """Leads, so that all is shown."""

    leading = True
    token = 1


def metrics_page() -> str:
    """Give docs/reference/metrics.md."""
    serve, actuate = described()
    return page(
        "Metrics",
        "Every metric of `/metrics` at the status port. Counters end in `_total`; histograms have "
        "`_bucket`, `_sum` and `_count`. A gauge of something that is not known now has no sample, "
        "never a 0.",
        section(
            "Of `serve`",
            "`actuate` has most of them too: of sources, policy and changes of its own decisions. "
            "Decisions, demand and pools have samples at `serve` alone. Its replicas show the "
            "same: take the `max` over them.",
            _table(serve),
        ),
        section(
            "Of `actuate` alone",
            "Only the process that leads shows what is held, so that sums over both are right.",
            _table({name: each for name, each in actuate.items() if name not in serve}),
        ),
    )


def described() -> tuple[Described, Described]:
    """Describe the metrics of serve and of actuate."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        policy, config = folder / "policy.yaml", folder / "config"
        policy.write_text("{}\n", encoding="utf-8")
        (folder / "..data").mkdir()  # as a mounted ConfigMap has
        config.write_text(json.dumps(NOWHERE), encoding="utf-8")
        return _serve(policy, str(config)), _actuate(policy, str(config))


def _serve(policy: Path, config: str) -> Described:
    settings = Settings(policy=policy, status=ANY_PORT, grpc=ANY_PORT, kubeconfig=config)
    app = App(settings)
    app._status.stop()  # noqa: SLF001 - a port is held from the start, and nothing else runs
    return _described(app._deciding.telemetry.registry)  # noqa: SLF001 - nobody else needs it


def _actuate(policy: Path, config: str) -> Described:
    settings = ActuatorSettings(
        policy=policy,
        status=ANY_PORT,
        kubeconfig=config,
        lease_namespace="none",
        lease_name="none",
    )
    actuation = Actuation(settings)
    actuation._status.stop()  # noqa: SLF001 - as above
    registry = actuation._deciding.telemetry.registry  # noqa: SLF001 - as above
    held = HeldCollector(tracker=Tracker(CollectorRegistry()), plans=dict, leadership=_Leading())
    return {**_described(registry), **_of(held.collect())}


def _described(registry: CollectorRegistry) -> Described:
    labels = {
        name: tuple(getattr(collector, "_labelnames", ()))
        for collector, names in registry._collector_to_names.items()  # noqa: SLF001 - a counter tells its labels nowhere else
        for name in names
    }
    return _of(registry.collect(), labels)


def _of(
    families: Iterable[Metric], labels: Mapping[str, tuple[str, ...]] | None = None
) -> Described:
    known = labels or {}
    return {
        _shown(family): (
            family.type,
            tuple(getattr(family, "_labelnames", ())) or known.get(family.name, ()),
            family.documentation,
        )
        for family in families
    }


def _shown(family: Metric) -> str:
    return f"{family.name}_total" if family.type == "counter" else family.name


def _table(metrics: Described) -> str:
    return table(HEAD, _rows(metrics))


def _rows(metrics: Described) -> Iterator[tuple[str, str, str, str]]:
    for name, (kind, labels, text) in sorted(metrics.items()):
        yield code(name), kind, ", ".join(map(code, labels)), sentence(text)
