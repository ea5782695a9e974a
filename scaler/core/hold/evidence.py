"""The sentences that say what is away, since when, why, and what became of the Workload."""

from scaler.core.hold.scene import Scene
from scaler.core.model import HoldRecord, Mode, Workload
from scaler.core.quantity import format_instant, several


def away(scene: Scene, hold: HoldRecord) -> str:
    """Say what is away."""
    pods = sum(count for _, count in hold.pod_sets)
    names = ", ".join(name for name, _ in hold.pod_sets)
    gpus = several(scene.devices, "GPU") if scene.devices else "no GPU"
    what = f"{several(pods, 'pod')} ({names}) with {gpus}" if names else "its pod"
    return (
        f"{what} {_is(pods)} away since {format_instant(int(hold.since))}; "
        f"{_workload(scene, hold)}; taken because {hold.reason}"
    )


def _is(pods: int) -> str:
    return "is" if pods <= 1 else "are"


def reason_of(scene: Scene, message: str) -> str:
    """Say why workers are taken, and what a reader has to know of where they may come back."""
    if scene.scale.mode is Mode.HOLD and _topology(scene.workload):
        return f"{message} (its pods have their nodes by topology: nodes that go evict it)"
    return message


def _workload(scene: Scene, hold: HoldRecord) -> str:
    if not hold.workload:
        return "no Workload is concerned"
    if scene.workload is None or scene.workload.uid != hold.workload_uid:
        return f"Workload {hold.workload} is not there as it was"
    name = f"Workload {hold.workload} (same UID)"
    if scene.scale.mode is Mode.HOLD:
        return f"{name} stays admitted with its usage unchanged"
    return f"{name} gave its quota back" if not scene.workload.reserved else f"{name} is leaving"


def _topology(workload: Workload | None) -> bool:
    if workload is None or workload.admission is None:
        return False
    return any(one.topology_assigned for one in workload.admission.assignments)
