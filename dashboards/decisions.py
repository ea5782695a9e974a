"""What was decided and why, what is not known, what is held, and what a dry run would have done."""

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
    renamed,
)

SCALED_OBJECT = LabelVariable(
    name="scaled_object",
    title="ScaledObject",
    metric="kueue_gpu_scaler_decision_reason",
    label="scaled_object",
)
CHOSEN = 'scaled_object=~"$scaled_object"'
_TRIGGER = "cluster, namespace, scaled_object, metric"
_WORKLOAD = "cluster, namespace, scaled_object, workload, component"
_LEGEND = "{{namespace}}/{{scaled_object}}"
HOUR = 3600


def _newest(name: str, labels: str) -> str:
    """Take one of what the replicas say alike."""
    return f"max by ({labels}) ({own(name, CHOSEN)})"


def _one(title: str, expression: str, about: str) -> Panel:
    return Panel(
        title=title,
        about=about,
        queries=(Query(expression=expression, legend=title),),
        form=Form.NUMBER,
        width=4,
    )


def _chart(
    title: str, expression: str, legend: str, *, about: str, unit: str = "short", width: int = 12
) -> Panel:
    return Panel(
        title=title,
        about=about,
        queries=(Query(expression=expression, legend=legend),),
        unit=unit,
        width=width,
    )


def _stack(title: str, expression: str, legend: str, *, about: str, width: int = 12) -> Panel:
    return Panel(
        title=title,
        about=about,
        queries=(Query(expression=expression, legend=legend),),
        form=Form.STACK,
        width=width,
    )


_REASON = _newest("decision_reason", f"{_TRIGGER}, status, reason")
_NOW = Section(
    title="Now",
    panels=(
        _one("Triggers", f"count(max by ({_TRIGGER}) ({_REASON}))", "Triggers that are decided."),
        _one(
            "In HOLD",
            f"count({_newest('hold', _TRIGGER)}) or vector(0)",
            "Triggers that something is unknown of: their targets keep their size.",
        ),
        _one(
            "Workers at zero",
            f"sum({metric('held_workloads')})",
            "WorkerScales whose workers are away.",
        ),
        _one(
            "GPUs freed by that",
            f"sum({metric('held_gpus')})",
            "GPUs of those workers.",
        ),
        _one(
            "Would be at zero",
            f"sum({_newest('dry_run_would_be_idle', _WORKLOAD)})",
            "Workloads that are idle, and kept by a dry run alone.",
        ),
        _one(
            "Holds breached",
            f"sum(increase({metric('hold_breaches_total')}[$__range])) or vector(0)",
            "Holds that were ended by force within the time shown. It should be 0.",
        ),
    ),
)
_DECISIONS = Section(
    title="Decisions",
    panels=(
        _chart(
            "Value",
            _newest("decision_value", _TRIGGER),
            f"{_LEGEND} {{{{metric}}}}",
            about="The value that KEDA got; a gap is a HOLD.",
        ),
        _stack(
            "Triggers by reason",
            f"count by (status, reason) ({_REASON})",
            "{{reason}} ({{status}})",
            about="Each trigger has one reason at a time.",
        ),
        _stack(
            "Changes by new reason",
            f"sum by (reason) (increase({metric('decision_changes_total')}[$__rate_interval]))",
            "{{reason}}",
            about="Decisions that became another one.",
        ),
        Panel(
            title="Decisions now",
            about="The reason in force of each trigger.",
            queries=(Query(expression=_REASON, legend="In force"),),
            form=Form.TABLE,
            width=12,
        ),
    ),
)
_UNKNOWN = Section(
    title="What is not known",
    panels=(
        _stack(
            "Triggers in HOLD by cause",
            f"count by (reason) ({_newest('hold', f'{_TRIGGER}, reason')})",
            "{{reason}}",
            about="UNKNOWN is a value of its own: such a trigger changes nothing.",
        ),
        _stack(
            "HOLD answers by cause",
            f"sum by (reason) (rate({metric('hold_answers_total')}[$__rate_interval]))",
            "{{reason}}",
            about="Answers a second that KEDA got.",
        ),
        _chart(
            "Sources",
            f"min by (cluster, source) ({metric('source_up')})",
            "{{source}}",
            about="1 = synced and without a problem, 0 = down on a replica.",
        ),
        _chart(
            "Age of sources",
            f"max by (cluster, source) ({metric('source_age_seconds')})",
            "{{source}}",
            about="Since the last sign of life; a quiet watch shows one a minute.",
            unit="s",
        ),
    ),
)
_HOLDS = Section(
    title="Workers at zero",
    panels=(
        _stack(
            "WorkerScales by state",
            f"sum by (state) ({metric('worker_scales')})",
            "{{state}}",
            about="As the actuator that leads sees them.",
            width=8,
        ),
        _stack(
            "GPUs freed",
            f"sum by (mode) ({metric('held_gpus')})",
            "{{mode}}",
            about="In mode Hold the quota stays in use, in mode Release it goes back to the queue.",
            width=8,
        ),
        Panel(
            title="GPU hours freed",
            about="Within the time shown, by namespace and mode. Deployments and StatefulSets that "
            "KEDA scales without a WorkerScale are not in it.",
            queries=(
                Query(
                    expression="sum by (namespace, mode) (increase("
                    f"{metric('held_gpu_seconds_total')}[$__range])) / {HOUR}",
                    legend="GPU hours",
                ),
            ),
            form=Form.TABLE,
            width=8,
        ),
    ),
)
_WOULD = (
    f"max by ({_WORKLOAD}) ({own('judged_gpus', CHOSEN)}) "
    f"* max by ({_WORKLOAD}) ({own('dry_run_would_be_idle', CHOSEN)})"
)
_WOULD_HAVE = metric("dry_run_would_have_scaled_to_zero_total", CHOSEN)
_IDLE = Section(
    title="Idleness, and what a dry run would have done",
    panels=(
        _chart(
            "Idle for, of the limit",
            f"{_newest('idle_seconds', _WORKLOAD)} / {_newest('idle_after_seconds', _WORKLOAD)}",
            f"{_LEGEND} {{{{workload}}}}",
            about="1 = idle for all of idleAfter. Of idle signals, once a GPU of theirs was busy.",
            unit="percentunit",
        ),
        _stack(
            "GPUs that a dry run keeps",
            f"sum by (namespace) ({_WOULD})",
            "{{namespace}}",
            about="GPUs of workloads that are idle, and kept by a dry run alone.",
        ),
        Panel(
            title="Would have gone",
            about="Within the time shown: how often a workload in a dry run became idle, and the "
            "GPU hours that it would have freed.",
            queries=(
                Query(
                    expression="sum by (namespace, scaled_object) ("
                    + renamed(f"increase({_WOULD_HAVE}[$__range])")
                    + ")",
                    legend="Times",
                ),
                Query(
                    expression="sum by (namespace, scaled_object) "
                    f"(sum_over_time(({_WOULD})[$__range:1m])) / 60",
                    legend="GPU hours",
                ),
            ),
            form=Form.TABLE,
            width=24,
        ),
    ),
)
_SERVICE = Section(
    title="The service itself",
    panels=(
        _stack(
            "Answers to KEDA",
            f"sum by (rpc, outcome) (rate({metric('answers_total')}[$__rate_interval]))",
            "{{rpc}} {{outcome}}",
            about="Answers a second.",
            width=8,
        ),
        _chart(
            "Open push streams",
            f"sum by (cluster) ({metric('open_streams')})",
            "{{cluster}}",
            about="KEDA opens one for each trigger of type external-push.",
            width=8,
        ),
        _chart(
            "Policy in force",
            f"min by (cluster) ({metric('policy_reload_ok')})",
            "{{cluster}}",
            about="1 = the file as it is now is in force on every replica.",
            width=8,
        ),
    ),
)

DECISIONS = Board(
    uid="kueue-gpu-scaler-decisions",
    title="GPUs: decisions",
    about="What was decided and why, what is unknown, and which workers are at zero.",
    variables=(CLUSTER, SCALED_OBJECT),
    sections=(_NOW, _DECISIONS, _UNKNOWN, _HOLDS, _IDLE, _SERVICE),
)
