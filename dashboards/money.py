"""Idle GPU hours and what they cost by tenant, by the prices of the policy."""

from dashboards.spec import CLUSTER, Board, Form, Panel, Query, Section, metric
from dashboards.use import CLUSTER_QUEUE, NAMESPACE, TENANT

MINUTES = 60
"""Of an hour: series are read once a minute."""
_LABELS = "cohort, cluster_queue, namespace"
_LEGEND = "{{namespace}} ({{cluster_queue}})"
_PRICED = f"{_LEGEND} {{{{currency}}}}"


def _rule(name: str) -> str:
    return f"kueue_gpu_scaler:{name}{{{TENANT}}}"


def _over_range(name: str, labels: str) -> str:
    """Add a rate an hour up over the time shown, a minute at a time."""
    return f"sum by ({labels}) (sum_over_time({_rule(name)}[$__range:1m])) / {MINUTES}"


def _chart(title: str, name: str, legend: str, *, about: str, labels: str) -> Panel:
    return Panel(
        title=title,
        about=about,
        queries=(Query(expression=f"sum by ({labels}) ({_rule(name)})", legend=legend),),
        form=Form.STACK,
        width=12,
    )


def _total(title: str, name: str, *, about: str, labels: str, legend: str) -> Panel:
    return Panel(
        title=title,
        about=about,
        queries=(Query(expression=_over_range(name, labels), legend=legend),),
        form=Form.NUMBER,
        width=6,
    )


_PRICE = "Prices are those of the policy's section `prices`; without one there is no cost."

_TOTALS = Section(
    title="In the time shown",
    panels=(
        _total(
            "GPU hours held",
            "tenant_gpus",
            about="GPUs of pods, busy or not, times the hours.",
            labels="",
            legend="GPU hours",
        ),
        _total(
            "GPU hours idle",
            "tenant_idle_gpus",
            about="Of these, the hours in which nothing at all was seen on the GPU (in spans of "
            "five minutes). What has no samples is unknown and not counted as idle.",
            labels="",
            legend="GPU hours",
        ),
        _total(
            "Cost", "tenant_cost_per_hour", about=_PRICE, labels="currency", legend="{{currency}}"
        ),
        _total(
            "Cost of idle GPUs",
            "tenant_idle_cost_per_hour",
            about=_PRICE,
            labels="currency",
            legend="{{currency}}",
        ),
    ),
)
_TENANTS = Section(
    title="By tenant",
    panels=(
        Panel(
            title="Hours and cost by tenant",
            about=f"In the time shown, by ClusterQueue and namespace. {_PRICE}",
            queries=tuple(
                Query(expression=_over_range(name, labels), legend=legend)
                for name, labels, legend in (
                    ("tenant_gpus", _LABELS, "GPU hours"),
                    ("tenant_idle_gpus", _LABELS, "Idle GPU hours"),
                )
            ),
            form=Form.TABLE,
            width=12,
        ),
        Panel(
            title="Cost by tenant",
            about=f"In the time shown, by ClusterQueue and namespace. {_PRICE}",
            queries=tuple(
                Query(expression=_over_range(name, f"{_LABELS}, currency"), legend=legend)
                for name, legend in (
                    ("tenant_cost_per_hour", "Cost"),
                    ("tenant_idle_cost_per_hour", "Of that idle"),
                )
            ),
            form=Form.TABLE,
            width=12,
        ),
        _chart(
            "Cost an hour",
            "tenant_cost_per_hour",
            _PRICED,
            about=_PRICE,
            labels=f"{_LABELS}, currency",
        ),
        _chart(
            "Cost of idle GPUs an hour",
            "tenant_idle_cost_per_hour",
            _PRICED,
            about=_PRICE,
            labels=f"{_LABELS}, currency",
        ),
        _chart(
            "Idle GPUs",
            "tenant_idle_gpus",
            _LEGEND,
            about="GPUs on which nothing was seen for five minutes.",
            labels=_LABELS,
        ),
        Panel(
            title="Prices",
            about="An hour of one GPU as the policy has it: by ResourceFlavor, by model, and (with "
            "neither) of any other.",
            queries=(
                Query(
                    expression="max by (cluster, flavor, model, currency) "
                    f"({metric('price_per_gpu_hour')})",
                    legend="An hour",
                ),
            ),
            form=Form.TABLE,
            width=12,
        ),
    ),
)

MONEY = Board(
    uid="kueue-gpu-scaler-money",
    title="GPUs: idle hours and cost",
    about="GPU hours, the idle ones of them, and what they cost by tenant.",
    variables=(CLUSTER, CLUSTER_QUEUE, NAMESPACE),
    sections=(_TOTALS, _TENANTS),
    since="now-24h",
)
