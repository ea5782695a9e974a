"""What may happen to a World between two looks, each of it something that a real cluster does."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from scaler.core.model import Controlled, JobPart, NotebookPart, RayClusterPart, WorkerScaleStatus
from scaler.core.reasons import Reason
from tests.core.hold.world import SIZE, World, ray_cluster

Event = Callable[[World], None]


def _verdict(reason: Reason) -> Event:
    def happen(world: World) -> None:
        world.verdict = reason

    return happen


def _change(**changes: object) -> Event:
    def happen(world: World) -> None:
        if world.scale is not None:
            world.scale = replace(world.scale, **changes)  # type: ignore[arg-type] # names are ours

    return happen


def nothing(world: World) -> None:
    """Let a moment pass."""
    del world


def zero(world: World) -> None:
    """KEDA wants zero."""
    world.scale_to(0)


def all_of_them(world: World) -> None:
    """KEDA wants the workers."""
    world.scale_to(SIZE)


def begin_work(world: World) -> None:
    """The workers' GPUs are at work."""
    world.verdict = Reason.BUSY


def hold_now(world: World) -> None:
    """A person takes the workers."""
    _change(hold_now=world.now)(world)


def wake(world: World) -> None:
    """A person wakes them."""
    _change(wake_at=world.now)(world)


def delete(world: World) -> None:
    """Somebody deletes the WorkerScale."""
    if world.scale is not None and world.scale.finalized:
        _change(deleting=True)(world)
    else:
        world.scale = None


def evict(world: World) -> None:
    """Kueue begins to evict the Workload."""
    world.quota = False
    world.evict()


def suspend(world: World) -> None:
    """Kueue suspends the owner and takes the quota back."""
    world.finish_eviction()


def readmit(world: World) -> None:
    """Quota comes free."""
    suspend(world)
    world.quota = True


def preempt_at_once(world: World) -> None:
    """Evict and admit again within one moment that nobody sees."""
    evict(world)
    readmit(world)
    world.settle()


def replace_workload(world: World) -> None:
    """Kueue deletes the Workload and makes another of the same name."""
    if world.workload is not None:
        uid = world.workload.uid + "x"
        world.workload = replace(world.workload, uid=uid, active=True, released_by=None)


def finish(world: World) -> None:
    """Let the job end."""
    world.workload = None


def fall_silent(world: World) -> None:
    """Let the sources show nothing new for longer than is believed."""
    world.alive = world.now - 3600


def speak(world: World) -> None:
    """Let the sources speak again."""
    world.alive = world.now


def lose_readiness(world: World) -> None:
    """PodsReady turns WaitForRecovery."""
    if world.workload is not None:
        world.workload = replace(world.workload, pods_ready="False/WaitForRecovery")


def regain_readiness(world: World) -> None:
    """PodsReady turns True."""
    if world.workload is not None:
        world.workload = replace(world.workload, pods_ready="True")


def stop_following(world: World) -> None:
    """A KubeRay without its gate comes: it ignores a cluster with a suspended group."""
    world.follows = False


def follow(world: World) -> None:
    """KubeRay follows again."""
    world.follows = True


def revert(world: World) -> None:
    """Another writer sets the targets back as a manifest has them, marks too."""
    for one in list(world.objects.values()):
        if one.part is not None and _is_zero(one):
            world.put(_restored(one, marks=False))
    found = world.workload
    if found is not None and not found.active:
        world.workload = replace(found, active=True, released_by=None)


def undo(world: World) -> None:
    """Another writer sets the values back alone."""
    for one in list(world.objects.values()):
        if one.part is not None and _is_zero(one):
            world.put(_restored(one, marks=True))
    found = world.workload
    if found is not None and not found.active:
        world.workload = replace(found, active=True)


def strip(world: World) -> None:
    """Another writer takes the marks off alone."""
    for one in list(world.objects.values()):
        if one.marks:
            world.put(replace(one, marks=()), spec=False)
    if world.workload is not None and world.workload.released_by is not None:
        world.workload = replace(world.workload, released_by=None)


def wipe_status(world: World) -> None:
    """Lose the WorkerScale's status, as a restore from a backup does."""
    _change(status=WorkerScaleStatus())(world)


def restore_backup(world: World) -> None:
    """Let a backup bring the objects back as they are, marks and all, under other UIDs."""
    renamed: set[str] = set()
    for one in list(world.objects.values()):
        if one.part is not None:
            del world.objects[one.uid]
            world.objects[one.uid + "r"] = replace(one, uid=one.uid + "r")
            renamed.add(one.uid)
    found = world.workload
    if found is not None:
        owners = tuple(
            replace(one, uid=one.uid + "r") if one.uid in renamed else one for one in found.owners
        )
        world.workload = replace(found, uid=found.uid + "r", owners=owners)


def retry_ray_job(world: World) -> None:
    """Let KubeRay make a fresh child for a RayJob."""
    old = world.objects.pop("child-uid", None)
    if old is not None:
        world.objects["child-2"] = ray_cluster("child-2", name="b-child", controller="a-uid")


def set_the_clock_back(world: World) -> None:
    """Let another leader's clock, or a correction, be an hour behind."""
    world.now -= 3600
    world.alive = world.now


EVENTS: Mapping[str, Event] = {
    "idle": _verdict(Reason.IDLE),
    "busy": _verdict(Reason.BUSY),
    "starting": _verdict(Reason.STARTING),
    "unknown": _verdict(Reason.NO_SAMPLES),
    "wake signal": _verdict(Reason.WAKE),
    "nothing": nothing,
    "zero": zero,
    "all of them": all_of_them,
    "hold now": hold_now,
    "wake": wake,
    "ignore": _change(opted_out=True),
    "heed": _change(opted_out=False),
    "maxHold": _change(max_hold=30.0),
    "delete": delete,
    "evict": evict,
    "suspend": suspend,
    "readmit": readmit,
    "preempt at once": preempt_at_once,
    "replace the Workload": replace_workload,
    "finish": finish,
    "fall silent": fall_silent,
    "speak": speak,
    "lose readiness": lose_readiness,
    "regain readiness": regain_readiness,
    "stop following": stop_following,
    "follow": follow,
    "revert": revert,
    "undo": undo,
    "strip": strip,
    "wipe the status": wipe_status,
    "restore a backup": restore_backup,
    "retry the RayJob": retry_ray_job,
    "set the clock back": set_the_clock_back,
}
"""By what people call it."""


def _is_zero(one: Controlled) -> bool:
    match one.part:
        case RayClusterPart() as part:
            return any(group.suspended for group in part.groups)
        case JobPart() as part:
            return part.parallelism == 0
        case NotebookPart() as part:
            return part.stopped is not None
        case None:
            return False


def _restored(one: Controlled, *, marks: bool) -> Controlled:
    kept = one.marks if marks else ()
    match one.part:
        case RayClusterPart() as part:
            groups = tuple(replace(group, suspended=None) for group in part.groups)
            return replace(one, marks=kept, part=replace(part, groups=groups))
        case JobPart() as part:
            return replace(one, marks=kept, part=replace(part, parallelism=1))
        case NotebookPart():
            return replace(one, marks=kept, part=NotebookPart())
        case None:
            return one
