"""What the queues wait for, what of their quota is used, and the nodes that are wanted for it."""

from dashboards.spec import (
    CLUSTER,
    Board,
    Form,
    LabelVariable,
    Panel,
    Query,
    Section,
    metric,
    own,
)

CLUSTER_QUEUE = LabelVariable(
    name="cluster_queue",
    title="ClusterQueue",
    metric="kueue_gpu_scaler_quota_nominal",
    label="cluster_queue",
)
QUEUE = 'cluster_queue=~"$cluster_queue"'
_CLASSES = (
    "A and B need nodes (admitted or with quota, and no place); D and J as far as quota is free; "
    "C, E to I wait for something that no node brings; Held have their workers at zero."
)


def _newest(name: str, labels: str) -> str:
    """Take one of what the replicas say alike."""
    return f"max by (cluster, {labels}) ({metric(name, QUEUE)})"


_DEMAND = Section(
    title="Demand",
    panels=(
        Panel(
            title="Workloads by class",
            about=f"Of ClusterQueues that a trigger reads. {_CLASSES}",
            queries=(
                Query(
                    expression=f"sum by (class) ({_newest('workloads', 'cluster_queue, class')})",
                    legend="{{class}}",
                ),
            ),
            form=Form.STACK,
        ),
        Panel(
            title="GPUs asked for by class",
            about=f"GPUs of those Workloads. {_CLASSES}",
            queries=(
                Query(
                    expression="sum by (class) "
                    f"({_newest('workload_gpus', 'cluster_queue, class')})",
                    legend="{{class}}",
                ),
            ),
            form=Form.STACK,
        ),
        Panel(
            title="Longest wait",
            about="How long the Workload that waits the longest does, by ClusterQueue and class, "
            "of every ClusterQueue.",
            queries=(
                Query(
                    expression=_newest("oldest_wait_seconds", "cluster_queue, class"),
                    legend="{{cluster_queue}} {{class}}",
                ),
            ),
            unit="s",
        ),
        Panel(
            title="Wait until admission (Kueue's own)",
            about="The 90th percentile of Kueue's kueue_admission_wait_time_seconds: Prometheus "
            "must scrape Kueue for it.",
            queries=(
                Query(
                    expression="histogram_quantile(0.9, sum by (cluster_queue, le) "
                    "(rate(kueue_admission_wait_time_seconds_bucket"
                    f'{{cluster=~"$cluster", {QUEUE}}}[$__rate_interval])))',
                    legend="{{cluster_queue}}",
                ),
            ),
            unit="s",
            width=12,
        ),
        Panel(
            title="Pending Workloads (Kueue's own)",
            about="Kueue's kueue_pending_workloads, of every ClusterQueue.",
            queries=(
                Query(
                    expression="sum by (cluster_queue, status) (max by (cluster, cluster_queue, "
                    "status) (kueue_pending_workloads"
                    f'{{cluster=~"$cluster", {QUEUE}}}))',
                    legend="{{cluster_queue}} {{status}}",
                ),
            ),
            form=Form.STACK,
            width=12,
        ),
    ),
)


def _quota(part: str, about: str) -> Panel:
    newest = _newest(f"quota_{part}", "cluster_queue, flavor, resource")
    return Panel(
        title=f"Quota {part}",
        about=about,
        queries=(
            Query(
                expression=f"sum by (cluster_queue, flavor) ({newest})",
                legend="{{cluster_queue}} {{flavor}}",
            ),
        ),
        form=Form.STACK,
        width=6,
    )


_QUOTA = Section(
    title="Quota of extended resources",
    panels=(
        _quota("nominal", "What each ClusterQueue has of its own."),
        _quota("used", "What admitted Workloads have of it, and what they borrowed."),
        _quota("borrowed", "What is used beyond the own nominal quota: the cohort lends it."),
        _quota("held", "The part of used whose workers a WorkerScale took to zero."),
        Panel(
            title="Quota now",
            about="The same in numbers.",
            queries=tuple(
                Query(
                    expression="sum by (cohort, cluster_queue, flavor, resource) ("
                    + _newest(f"quota_{part}", "cohort, cluster_queue, flavor, resource")
                    + ")",
                    legend=part.capitalize(),
                )
                for part in ("nominal", "used", "borrowed", "held")
            ),
            form=Form.TABLE,
            width=24,
        ),
    ),
)


def _pool(state: str) -> str:
    nodes = metric("pool_nodes", f'state="{state}"')
    return f"max by (cluster, pool) ({nodes})"


def _of_queues(name: str) -> str:
    newest = own(name, 'metric=~"queue-.*"')
    return f"max by (cluster, namespace, scaled_object) ({newest})"


_NODES = Section(
    title="Nodes",
    panels=(
        Panel(
            title="Nodes wanted and there",
            about="By ScaledObject of a queue signal: the value that KEDA got, and the size that "
            "its target has.",
            queries=(
                Query(
                    expression=_of_queues("decision_value"),
                    legend="{{namespace}}/{{scaled_object}} wanted",
                ),
                Query(
                    expression=_of_queues("target_size"),
                    legend="{{namespace}}/{{scaled_object}} there",
                ),
            ),
            width=12,
        ),
        Panel(
            title="Nodes by state",
            about="Of each pool: usable, coming (asked for, no GPUs yet), broken (no space, but in "
            "the size), new (wanted beyond those).",
            queries=(
                Query(
                    expression="max by (cluster, pool, state) ("
                    + metric("pool_nodes", 'state=~"usable|coming|broken|new"')
                    + ")",
                    legend="{{pool}} {{state}}",
                ),
            ),
            form=Form.STACK,
            width=12,
        ),
        Panel(
            title="Pools now",
            about="Nodes that match each pool, of them usable and without work, those wanted "
            "beyond, and the most that it may have.",
            queries=tuple(
                Query(expression=_pool(state), legend=state.capitalize())
                for state in ("present", "usable", "empty", "coming", "broken", "new", "maximum")
            ),
            form=Form.TABLE,
            width=24,
        ),
    ),
)

QUEUES = Board(
    uid="kueue-gpu-scaler-queues",
    title="GPUs: queues, quota and nodes",
    about="What waits and for what, what of the quota is used, and the nodes that it takes.",
    variables=(CLUSTER, CLUSTER_QUEUE),
    sections=(_DEMAND, _QUOTA, _NODES),
)
