"""GPU use by tenant, project, workload and GPU, with the health of each device."""

from dashboards.profiles import POWER, REMAP_FAILURE, TEMPERATURE, TENSOR, XID, device
from dashboards.spec import CLUSTER, Board, Form, LabelVariable, Panel, Query, Section

TENANT = 'cluster=~"$cluster", cluster_queue=~"$cluster_queue", namespace=~"$namespace"'
RATIO = "percentunit"
MOST = 20
"""Series of single GPUs in one chart: a fleet has thousands."""
CLUSTER_QUEUE = LabelVariable(
    name="cluster_queue",
    title="ClusterQueue",
    metric="kueue_gpu_scaler:tenant_gpus",
    label="cluster_queue",
)
NAMESPACE = LabelVariable(
    name="namespace", title="Namespace", metric="kueue_gpu_scaler:tenant_gpus", label="namespace"
)
_TENANTS = (
    ("tenant", "cohort, cluster_queue", "{{cohort}}/{{cluster_queue}}"),
    ("project", "cluster_queue, namespace", "{{namespace}} ({{cluster_queue}})"),
)


def _rule(name: str) -> str:
    return f"kueue_gpu_scaler:{name}{{{TENANT}}}"


def _one(title: str, expression: str, *, about: str, unit: str = "short") -> Panel:
    return Panel(
        title=title,
        about=about,
        queries=(Query(expression=expression, legend=title),),
        form=Form.NUMBER,
        unit=unit,
        width=4,
    )


def _by(level: str, labels: str, legend: str) -> Section:
    """Give use, idle share and GPUs of each tenant or project."""

    def chart(title: str, expression: str, about: str, *, unit: str = RATIO) -> Panel:
        ratio = unit == RATIO
        return Panel(
            title=f"{title} by {level}",
            about=about,
            queries=(Query(expression=expression, legend=legend),),
            form=Form.CHART if ratio else Form.STACK,
            unit=unit,
            maximum=1.0 if ratio else None,
        )

    idle, gpus = _rule("tenant_idle_gpus"), _rule("tenant_gpus")
    return Section(
        title=f"By {level}",
        panels=(
            chart(
                "GPUs held",
                f"sum by ({labels}) ({gpus})",
                "GPUs of pods that run, busy or not. Work outside Kueue has no ClusterQueue.",
                unit="short",
            ),
            chart(
                "Use",
                f"avg by ({labels}) ({_rule('held_gpu_mean5m')})",
                "Mean activity of the held GPUs over five minutes; GPUs without samples left out.",
            ),
            chart(
                "Idle share",
                f"sum by ({labels}) ({idle}) / sum by ({labels}) ({gpus})",
                "Held GPUs on which nothing at all was seen for five minutes, of all held ones.",
            ),
        ),
    )


_SUMMARY = Section(
    title="Now",
    panels=(
        _one("GPUs held", f"sum({_rule('tenant_gpus')})", about="GPUs of pods that run."),
        _one(
            "Use",
            f"avg({_rule('held_gpu_mean5m')})",
            about="Mean activity of the held GPUs over five minutes.",
            unit=RATIO,
        ),
        _one(
            "Idle share",
            f"sum({_rule('tenant_idle_gpus')}) / sum({_rule('tenant_gpus')})",
            about="Held GPUs on which nothing was seen for five minutes, of all held ones.",
            unit=RATIO,
        ),
        _one(
            "Held without samples",
            f"sum({_rule('tenant_unseen_gpus')})",
            about="GPUs of pods for which there is no sample: neither busy nor idle, but unknown.",
        ),
        _one(
            "GPUs that report",
            "count(count by (cluster, UUID, GPU_I_ID) "
            '(kueue_gpu_scaler:gpu_mean5m{cluster=~"$cluster"}))',
            about="GPUs and slices that DCGM has samples of, held or free.",
        ),
        _one(
            "GPUs with an Xid",
            'count(kueue_gpu_scaler:gpu_xid{cluster=~"$cluster"} > 0) or vector(0)',
            about="GPUs whose last Xid is not 0. It stays until the driver is loaded anew.",
        ),
    ),
)
_OWNED = "cluster_queue, namespace, owner, workload"
_WORKLOADS = Section(
    title="By workload",
    panels=(
        Panel(
            title="Workloads with GPUs",
            about="The owner of each Workload (of pods outside Kueue their controller), its GPUs, "
            "their mean activity over five minutes and how many of them do nothing.",
            form=Form.TABLE,
            width=24,
            queries=tuple(
                Query(
                    expression=f"{how} by ({_OWNED}) ({_rule(rule)})",
                    legend=legend,
                )
                for how, rule, legend in (
                    ("sum", "pod_gpus", "GPUs"),
                    ("avg", "held_gpu_mean5m", "Use (0 to 1)"),
                    ("sum", "held_gpu_idle", "Idle GPUs"),
                )
            ),
        ),
    ),
)


def _health(title: str, names: tuple[str, str], *, unit: str, about: str) -> Panel:
    return Panel(
        title=title,
        about=f"{about} The {MOST} highest.",
        queries=(
            Query(expression=f"topk({MOST}, {device(names)})", legend="{{node}} GPU {{gpu}}"),
        ),
        unit=unit,
        width=12,
    )


_GPUS = Section(
    title="By GPU",
    panels=(
        Panel(
            title="Use by GPU",
            about=f"Mean activity over five minutes, of held and free GPUs. The {MOST} busiest.",
            queries=(
                Query(
                    expression=f'topk({MOST}, kueue_gpu_scaler:gpu_mean5m{{cluster=~"$cluster"}})',
                    legend="{{node}} GPU {{gpu}} {{GPU_I_ID}}",
                ),
            ),
            unit=RATIO,
            maximum=1.0,
            width=12,
        ),
        _health(
            "Tensor cores by GPU",
            TENSOR,
            unit=RATIO,
            about="Activity of the tensor cores: a busy GPU with little of it is worth a look.",
        ),
        _health("Temperature by GPU", TEMPERATURE, unit="celsius", about="Of the GPU itself."),
        _health("Power by GPU", POWER, unit="watt", about="Power draw of the board."),
        Panel(
            title="Health by GPU",
            about="The last Xid (0: none; it stays until the driver is loaded anew) and whether a "
            "row of memory could not be remapped (1: replace the GPU).",
            form=Form.TABLE,
            width=24,
            queries=(
                Query(expression=device(XID), legend="Last Xid"),
                Query(expression=device(REMAP_FAILURE), legend="Row remap failed"),
            ),
        ),
    ),
)

USE = Board(
    uid="kueue-gpu-scaler-use",
    title="GPUs: use and health",
    about="Who has the GPUs, what they do with them, and how the devices are.",
    variables=(CLUSTER, CLUSTER_QUEUE, NAMESPACE),
    sections=(_SUMMARY, *(_by(*level) for level in _TENANTS), _WORKLOADS, _GPUS),
    profiles=True,
)
