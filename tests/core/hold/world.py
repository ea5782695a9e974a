"""A small cluster that steps are applied to: Kueue-like, KubeRay-like and JobSet-like.

It keeps their measured contracts: a suspended group has no pods, a Job of parallelism 0 neither; an
eviction suspends the owner and leaves what was held as it is; the next admission starts all that
is not held; `active: false` evicts and keeps the Workload. A failed patch changes nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from scaler.core.decision import Decision, Status
from scaler.core.hold.plan import plan
from scaler.core.hold.steps import (
    DropMark,
    Plan,
    SetActive,
    SetFinalizer,
    SetGroup,
    SetNotebook,
    SetParallelism,
    SetReplicas,
    Step,
    WriteStatus,
)
from scaler.core.model import (
    AdmissionCheck,
    Controlled,
    JobPart,
    Kind,
    Mark,
    Mode,
    Node,
    NotebookPart,
    Pod,
    PodSet,
    RayClusterPart,
    SourceState,
    WorkerGroup,
    WorkerScale,
    WorkerTarget,
    Workload,
)
from scaler.core.policy import Policy
from scaler.core.reasons import Reason
from scaler.core.snapshot import Snapshot
from tests.builders import (
    NOW,
    make_admission,
    make_node,
    make_owner,
    make_pod,
    make_pod_set,
    make_snapshot,
    make_workload,
)

GROUP = "gpu"
SIZE = 2
KINDS = {
    "RayCluster": "ray.io/v1",
    "RayJob": "ray.io/v1",
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "Notebook": "kubeflow.org/v1",
    "Job": "batch/v1",
    "PyTorchJob": "kubeflow.org/v1",
}


class RefusedWriteError(Exception):
    """The API server refused a write: a test of a patch failed, or somebody wrote before."""


def target(kind: str, name: str = "a", *, component: str | None = GROUP) -> WorkerTarget:
    """Build a target."""
    return WorkerTarget(api_version=KINDS[kind], kind=kind, name=name, component=component)


def make_scale(
    *,
    kind: str = "RayCluster",
    mode: Mode = Mode.HOLD,
    component: str | None = GROUP,
    replicas: int = SIZE,
    **changes: object,
) -> WorkerScale:
    """Build a WorkerScale `ws` that was just created."""
    made = WorkerScale(
        namespace="ml",
        name="ws",
        uid="ws-uid",
        created=NOW - 5,
        generation=1,
        resource_version="1",
        target=target(kind, component=component if mode is Mode.HOLD else None),
        mode=mode,
        replicas=replicas,
    )
    return replace(made, **changes)  # type: ignore[arg-type] # names and types are the caller's


@dataclass(kw_only=True)
class World:
    """The cluster; what happens in it is in `events.py`."""

    scale: WorkerScale | None
    workload: Workload | None
    objects: dict[str, Controlled]
    """By uid."""
    pod_sets: tuple[PodSet, ...]
    pods: dict[str, Pod] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    checks: list[AdmissionCheck] = field(default_factory=list)
    others: list[WorkerScale] = field(default_factory=list)
    bystanders: list[Workload] = field(default_factory=list)
    now: float = NOW
    verdict: Reason = Reason.BUSY
    alive: float = NOW
    """When the sources gave their last sign of life."""
    quota: bool = True
    """There is quota to admit the Workload anew."""
    follows: bool = True
    """KubeRay takes a suspended group."""
    written: list[Step] = field(default_factory=list)
    """What reached the target."""
    allowed: frozenset[str] | None = None
    sources: dict[Kind, SourceState] = field(default_factory=dict)
    """Of kinds that are not read as all others are."""

    def snapshot(self) -> Snapshot:
        """Give what the sources show."""
        state = SourceState(synced=True, last_alive=self.alive)
        made = make_snapshot(
            at=self.now,
            workloads=[*self.bystanders, *([] if self.workload is None else [self.workload])],
            owners=self.objects.values(),
            pods=self.pods.values(),
            nodes=self.nodes,
            checks=self.checks,
            sources={**dict.fromkeys(Kind, state), **self.sources},
        )
        scales = [*self.others, *([] if self.scale is None else [self.scale])]
        return replace(made, worker_scales={one.key: one for one in scales})

    def decisions(self) -> tuple[Decision, ...]:
        """Give the decision of the one idle trigger."""
        return (decision(self.verdict, at=self.now),)

    def plan(self) -> Plan:
        """Plan on what is there now."""
        assert self.scale is not None
        more = {} if self.allowed is None else {"allowed": self.allowed}
        return plan(
            snapshot=self.snapshot(),
            scale=self.scale,
            decisions=self.decisions(),
            policy=Policy(),
            now=self.now,
            **more,
        )

    def apply(self, steps: Iterable[Step]) -> None:
        """Do steps in their order; the first that is refused ends them."""
        for step in steps:
            try:
                self._apply(step)
            except RefusedWriteError:
                return

    def look(self, *, stop_after: int | None = None) -> Plan:
        """Plan, apply (the first `stop_after` steps), and let the controllers act."""
        made = self.plan()
        self.apply(made.steps[:stop_after])
        self.settle()
        return made

    def looks(self, number: int, *, seconds: float = 1.0) -> Plan:
        """Look several times, the clock going on in between."""
        for _ in range(number - 1):
            if self.scale is None:
                break
            self.look()
            self.now += seconds
            self.alive = self.now
        assert self.scale is not None
        return self.look()

    def _apply(self, step: Step) -> None:
        match step:
            case SetFinalizer() | SetReplicas() | WriteStatus():
                self._to_scale(step)
            case SetGroup():
                self._set_group(step)
            case SetParallelism():
                self._set_parallelism(step)
            case SetActive():
                self._set_active(step)
            case SetNotebook():
                self._set_notebook(step)
            case DropMark():
                self._drop_mark(step)
            case _:
                assert_never(step)

    def _to_scale(self, step: SetFinalizer | SetReplicas | WriteStatus) -> None:
        if self.scale is None:
            raise RefusedWriteError
        if isinstance(step, WriteStatus):
            self.scale = replace(self.scale, status=step.status)
        elif isinstance(step, SetReplicas):
            self.scale_to(step.replicas)
        elif self.scale.deleting and not step.present:
            self.scale = None
        else:
            self.scale = replace(self.scale, finalized=step.present)

    def scale_to(self, replicas: int) -> None:
        """Write spec.replicas, as KEDA does."""
        if self.scale is not None and self.scale.replicas != replicas:
            self.scale = replace(
                self.scale, replicas=replicas, generation=self.scale.generation + 1
            )

    def one(self, kind: str) -> Controlled:
        """Give the object of a kind."""
        return next(one for one in self.objects.values() if one.kind == kind)

    def put(self, thing: Controlled, *, spec: bool = True) -> None:
        """Store an object's next version."""
        generation = thing.generation + (1 if spec else 0)
        version = str(int(thing.resource_version or 0) + 1)
        self.objects[thing.uid] = replace(thing, generation=generation, resource_version=version)

    def _found(self, kind: str, key: tuple[str, str]) -> Controlled:
        for one in self.objects.values():
            if one.kind == kind and one.key == key:
                return one
        raise RefusedWriteError

    def _set_group(self, step: SetGroup) -> None:
        cluster = self._found("RayCluster", step.cluster)
        if cluster.uid != step.uid:
            raise RefusedWriteError
        part = cluster.part
        assert isinstance(part, RayClusterPart)
        if step.index >= len(part.groups) or part.groups[step.index].name != step.group:
            raise RefusedWriteError
        if not step.suspend and step.mark.component not in _components(cluster):
            raise RefusedWriteError
        groups = list(part.groups)
        groups[step.index] = replace(groups[step.index], suspended=step.suspend)
        changed = replace(cluster, part=replace(part, groups=tuple(groups)))
        self.put(_marked(changed, step.mark, present=step.suspend))
        self.written.append(step)

    def _set_parallelism(self, step: SetParallelism) -> None:
        job = self._found("Job", step.job)
        if job.resource_version != step.resource_version:
            raise RefusedWriteError
        assert isinstance(job.part, JobPart)
        changed = replace(job, part=replace(job.part, parallelism=step.parallelism))
        self.put(_marked(changed, step.mark, present=step.taking))
        self.written.append(step)

    def _set_active(self, step: SetActive) -> None:
        found = self.workload
        if found is None or found.uid != step.uid or found.active == step.active:
            raise RefusedWriteError
        by = None if step.active else step.by
        self.workload = replace(found, active=step.active, released_by=by)
        self.written.append(step)

    def _set_notebook(self, step: SetNotebook) -> None:
        found = self._found("Notebook", step.notebook)
        if found.resource_version != step.resource_version:
            raise RefusedWriteError
        part = NotebookPart(stopped="2027" if step.stop else None)
        self.put(_marked(replace(found, part=part), step.mark, present=step.stop))
        self.written.append(step)

    def _drop_mark(self, step: DropMark) -> None:
        self.written.append(step)
        if step.kind == "Workload":
            if self.workload is not None:
                self.workload = replace(self.workload, released_by=None)
            return
        found = self._found(step.kind, step.object)
        self.put(_marked(found, step.mark, present=False), spec=False)

    def settle(self) -> None:
        """Let the controllers act until they have nothing left to do."""
        self._kueue()
        for one in list(self.objects.values()):
            part = one.part
            if isinstance(part, RayClusterPart) and self.follows:
                observed = replace(part, observed_generation=one.generation)
                self.objects[one.uid] = replace(one, part=observed)
        wanted = self._wanted()
        self.pods = {name: pod for name, pod in self.pods.items() if name in wanted}
        for name, pod in wanted.items():
            self.pods.setdefault(name, pod)

    def _kueue(self) -> None:
        found = self.workload
        if found is not None and not found.active and found.reserved:
            self.evict()
            self.finish_eviction()
        elif self.quota:
            self.admit()

    def evict(self) -> None:
        """Begin an eviction: Evicted stands beside Admitted for a while."""
        if self.workload is not None and self.workload.reserved:
            evictions = self.workload.evictions + 1
            self.workload = replace(self.workload, evicted=True, evictions=evictions)

    def finish_eviction(self) -> None:
        """Suspend the owner, and take the quota back."""
        found = self.workload
        if found is None or not found.evicted:
            return
        self._suspend(suspended=True)
        self.workload = replace(found, reserved=False, admitted=False, admission=None)

    def admit(self) -> None:
        """Admit the Workload anew, with full quota."""
        found = self.workload
        if found is None or found.reserved or not found.active:
            return
        self._suspend(suspended=False)
        self.workload = replace(
            found,
            reserved=True,
            admitted=True,
            evicted=False,
            reserved_at=self.now,
            admission=make_admission(pod_sets=found.pod_sets),
        )

    def _suspend(self, *, suspended: bool) -> None:
        for one in list(self.objects.values()):
            if isinstance(one.part, RayClusterPart | JobPart) and one.part.suspended != suspended:
                self.put(replace(one, part=replace(one.part, suspended=suspended)))

    def _wanted(self) -> dict[str, Pod]:
        found = self.workload
        pods: dict[str, Pod] = {}
        for one in self.objects.values():
            for pod_set, count in _sizes(one, follows=self.follows):
                for number in range(count):
                    name = f"{one.name}-{pod_set}-{number}"
                    labels = {"notebook-name": one.name} if one.kind == "Notebook" else {}
                    pods[name] = make_pod(
                        name=name,
                        labels=labels,
                        gpus=4,
                        workload=None if found is None else found.name,
                        pod_set=pod_set,
                        created=self.now,
                        ready_since=self.now,
                    )
        return pods


def _sizes(one: Controlled, *, follows: bool) -> Iterable[tuple[str, int]]:
    match one.part:
        case RayClusterPart() as part:
            if not part.suspended:
                yield "head", 1
                for group in part.groups:
                    gone = group.suspended and follows
                    yield group.name.lower(), 0 if gone else group.pods
        case JobPart() as part:
            yield part.replicated_job or "", 0 if part.suspended else part.parallelism
        case NotebookPart() as part:
            yield "notebook", 0 if part.stopped else 1
        case _:
            return


def _components(thing: Controlled) -> frozenset[str]:
    return frozenset(one.component for one in thing.marks)


def _marked(thing: Controlled, mark: Mark, *, present: bool) -> Controlled:
    rest = tuple(one for one in thing.marks if one.component != mark.component)
    return replace(thing, marks=(*rest, mark) if present else rest)


def decision(reason: Reason, *, at: float = NOW, name: str = "so") -> Decision:
    """Build the decision of an idle trigger."""
    unknown = reason in (Reason.NO_SAMPLES, Reason.PROMETHEUS_FAILED, Reason.NOT_SYNCED)
    active = reason not in (Reason.IDLE, Reason.AT_ZERO)
    return Decision(
        namespace="ml",
        name=name,
        metric="idle",
        status=Status.HOLD if unknown else Status.OK,
        active=None if unknown else active,
        value=None if unknown else SIZE,
        reason=reason,
        detail=f"the readings say {reason}",
        at=at,
    )


def ray_cluster(uid: str, *, name: str = "a", controller: str | None = None) -> Controlled:
    """Build a RayCluster with groups `cpu` and `gpu`."""
    part = RayClusterPart(
        groups=(WorkerGroup(name="cpu", pods=1), WorkerGroup(name=GROUP, pods=SIZE)),
        observed_generation=1,
    )
    return _object("RayCluster", uid, name=name, controller=controller, part=part)


def _object(
    kind: str,
    uid: str,
    *,
    name: str,
    controller: str | None = None,
    part: RayClusterPart | JobPart | NotebookPart | None = None,
) -> Controlled:
    return Controlled(
        uid=uid,
        kind=kind,
        namespace="ml",
        name=name,
        controller_uid=controller,
        generation=1,
        resource_version="1",
        part=part,
    )


def _objects(kind: str, jobs: int) -> list[Controlled]:
    """Build what stands behind a target of each kind, the target's own uid being `a-uid`."""
    match kind:
        case "RayCluster":
            return [ray_cluster("a-uid")]
        case "RayJob":
            return [ray_cluster("child-uid", name="a-child", controller="a-uid")]
        case "JobSet" | "TrainJob":
            above = None if kind == "JobSet" else "a-uid"
            uid = "a-uid" if kind == "JobSet" else "js-uid"
            part = JobPart(parallelism=SIZE // jobs, job_set="a", replicated_job=GROUP)
            children = [
                _object("Job", f"job-{one}", name=f"a-gpu-{one}", controller=uid, part=part)
                for one in range(jobs)
            ]
            return [_object("JobSet", uid, name="a", controller=above), *children]
        case "Notebook":
            return [_object("Notebook", "a-uid", name="a", part=NotebookPart())]
        case _:
            return []


def make_world(
    *,
    kind: str = "RayCluster",
    mode: Mode = Mode.HOLD,
    jobs: int = 1,
    read: bool = True,
    scale: WorkerScale | None = None,
    **workload: object,
) -> World:
    """Build a cluster in which the target runs; `read` says whether its size was read before."""
    ray = kind in ("RayCluster", "RayJob")
    names = ("head", "cpu", GROUP) if ray else (GROUP,)
    counts = {"head": 1, "cpu": 1, GROUP: SIZE}
    pod_sets = tuple(
        make_pod_set(name=name, count=counts[name], gpus=4 if name == GROUP else 0)
        for name in names
    )
    owner = make_owner(uid="a-uid", kind=kind, api_version=KINDS[kind], name="a")
    found = make_workload(
        name="wl-a", uid="wl-1", pod_sets=pod_sets, admitted=True, owners=(owner,)
    )
    admitted = replace(found, reserved_at=NOW - 3600)
    world = World(
        scale=scale or make_scale(kind=kind, mode=mode),
        workload=None if kind == "Notebook" else replace(admitted, **workload),  # type: ignore[arg-type] # the caller's
        objects={one.uid: one for one in _objects(kind, jobs)},
        pod_sets=pod_sets,
        nodes=[make_node(name="node-0")],
    )
    world.settle()
    if read:
        world.look()
    return world


def held_world(
    *, kind: str = "RayCluster", mode: Mode = Mode.HOLD, jobs: int = 1, **workload: object
) -> World:
    """Build a cluster in which the target's workers were taken because they were idle."""
    world = make_world(kind=kind, mode=mode, jobs=jobs, **workload)  # type: ignore[arg-type] # the caller's
    world.scale_to(0)
    world.verdict = Reason.IDLE
    world.look()
    world.verdict = Reason.AT_ZERO
    world.now += 1
    world.look()
    world.now += 30
    world.alive = world.now
    return world
