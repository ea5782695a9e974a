"""Decide an idle signal: what KEDA gets for the verdict on a component.

(false, S) keeps every pod until the cooldown and then takes all in one step; (false, 0) would let
the HPA go to one pod first, so it is for ScaledObjects whose minimum keeps pods anyway. Where
another trigger sizes the target, the value is 1, which never asks for more than that one does.
"""

from dataclasses import dataclass

from scaler.core.decision import Decision, DeviceEvidence, IdleEvidence, Status, Verdict
from scaler.core.idle.join import DeviceUse
from scaler.core.idle.judge import judge
from scaler.core.idle.question import Finding, Question
from scaler.core.idle.starts import quiet_since
from scaler.core.metadata import metric_name
from scaler.core.model import Instant, Kind, ScaledObject, WorkerScale
from scaler.core.policy import Policy
from scaler.core.profile import metric_profile
from scaler.core.reasons import Reason
from scaler.core.size import Size
from scaler.core.snapshot import Part, Partition, Snapshot
from scaler.core.sources import missing
from scaler.core.trigger import IdleTrigger, TriggerRef
from scaler.core.workers.component import Component, Unfound
from scaler.core.workers.resolve import Resolved, kinds_needed, queue_kinds_needed, resolve

_DEVICES_SHOWN = 16


def decide_idle(
    *,
    snapshot: Snapshot,
    ref: TriggerRef,
    trigger: IdleTrigger,
    policy: Policy,
    now: Instant,
    scaled_object: ScaledObject | None,
    size: Size,
    scale: WorkerScale | None = None,
) -> Decision:
    """Decide an idle signal on everything that is known.

    `scale` is the WorkerScale that the trigger speaks of, by `scales.scale_of`.
    """
    asked = _Asked(
        snapshot=snapshot,
        ref=ref,
        trigger=trigger,
        policy=policy,
        now=now,
        scaled_object=scaled_object,
        size=size,
        scale=scale,
    )
    return asked.decide()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One trigger, and what it is decided on."""

    snapshot: Snapshot
    ref: TriggerRef
    trigger: IdleTrigger
    policy: Policy
    now: Instant
    scaled_object: ScaledObject | None
    size: Size
    scale: WorkerScale | None

    def decide(self) -> Decision:
        """Hold where a source, the component or the size is not known; else judge."""
        namespace, scaled_object = self.ref.namespace, self.scaled_object
        kinds = kinds_needed(
            snapshot=self.snapshot,
            namespace=namespace,
            trigger=self.trigger,
            scaled_object=scaled_object,
            scale=self.scale,
        )
        lack = self._lack(kinds)
        if lack is not None:
            return self._hold(*lack, read=_partitions(self.snapshot, namespace, kinds))
        resolved = resolve(
            snapshot=self.snapshot,
            namespace=namespace,
            trigger=self.trigger,
            scaled_object=scaled_object,
            policy=self.policy,
            scale=self.scale,
        )
        if isinstance(resolved, Unfound):
            read = _partitions(self.snapshot, namespace, kinds)
            return self._hold(Reason.TARGET_MISSING, resolved.detail, read=read)
        return self._judge(resolved, kinds)

    def _judge(self, resolved: Resolved, kinds: frozenset[Kind]) -> Decision:
        more = queue_kinds_needed(resolved=resolved, policy=self.policy)
        read = _partitions(self.snapshot, self.ref.namespace, kinds | more, resolved)
        lack = self._lack(more) or self._size_lack(resolved.component)
        if lack is not None:
            return self._hold(*lack, read=read)
        question = Question(
            snapshot=self.snapshot,
            resolved=resolved,
            size=self.size.value,
            scaled_object=self.scaled_object,
            policy=self.policy,
            now=self.now,
            scale=self.scale,
        )
        return self._answer(resolved=resolved, finding=judge(question), read=read)

    def _lack(self, kinds: frozenset[Kind]) -> tuple[Reason, str] | None:
        max_age = self.policy.safety.max_watch_age
        lack = missing(snapshot=self.snapshot, kinds=kinds, max_age=max_age, now=self.now)
        return None if lack is None else (lack.reason, lack.detail)

    def _size_lack(self, component: Component) -> tuple[Reason, str] | None:
        """Ask for S, which every value rests on; another trigger's value does without it."""
        if self.size.value is None and not (self._sized_elsewhere() and component.pods):
            return Reason.SIZE_UNKNOWN, self.size.detail
        return None

    def _hold(self, reason: Reason, detail: str, *, read: frozenset[Partition]) -> Decision:
        return self._decision(status=Status.HOLD, reason=reason, detail=detail, read=read)

    def _answer(
        self, *, resolved: Resolved, finding: Finding, read: frozenset[Partition]
    ) -> Decision:
        dry = finding.reason is Reason.IDLE and resolved.effective.dry_run
        active = finding.verdict is Verdict.BUSY or dry
        known = finding.verdict is not Verdict.UNKNOWN
        return self._decision(
            status=Status.OK if known else Status.HOLD,
            active=active if known else None,
            value=self._value(resolved.component, finding, dry=dry) if known else None,
            reason=Reason.DRY_RUN if dry else finding.reason,
            detail=finding.detail,
            read=read,
            idle=self._evidence(resolved, finding),
            resolved=resolved,
        )

    def _value(self, component: Component, finding: Finding, *, dry: bool) -> int:
        size = self.size.value or 0
        if self._sized_elsewhere():
            return 1
        if finding.verdict is Verdict.BUSY:
            full = 1 if self.scale is None else component.wanted
            return max(size, self.trigger.replicas or full)
        kept = self.scaled_object is not None and self.scaled_object.kept_by_minimum
        return 0 if kept and not dry else size

    def _sized_elsewhere(self) -> bool:
        """Say whether another trigger of the ScaledObject sizes the target.

        Another idle trigger does not: two of them that both said 1 would shrink the target.
        """
        scaled_object = self.scaled_object
        return scaled_object is not None and any(
            spec.signal != "idle" for spec in scaled_object.triggers
        )

    def _evidence(self, resolved: Resolved, finding: Finding) -> IdleEvidence:
        component = resolved.component
        profile = metric_profile(self.policy.prometheus)
        busiest = sorted(finding.devices, key=lambda one: (-(one.peak or 0.0), one.device))
        since = quiet_since(finding.devices, busy_from_percent=resolved.effective.busy_from_percent)
        return IdleEvidence(
            workload=str(component.subject),
            component=component.name,
            verdict=finding.verdict,
            pods=tuple(pod.name for pod in component.pods),
            gpus_requested=sum(profile.devices(pod.requests) for pod in component.pods),
            devices=tuple(_shown(one, self.now) for one in busiest[:_DEVICES_SHOWN]),
            physical_gpus=len({one.device.uuid for one in finding.devices}),
            idle_seconds=None if since is None else max(0.0, self.now - since),
            idle_after_seconds=resolved.effective.idle_after,
            keep_alive=finding.keep_alive,
            wake=finding.wake,
        )

    def _decision(
        self,
        *,
        status: Status,
        reason: Reason,
        detail: str,
        read: frozenset[Partition],
        active: bool | None = None,
        value: int | None = None,
        idle: IdleEvidence | None = None,
        resolved: Resolved | None = None,
    ) -> Decision:
        return Decision(
            namespace=self.ref.namespace,
            name=self.ref.name,
            metric=metric_name(self.trigger),
            status=status,
            active=active,
            value=value,
            reason=reason,
            detail=detail,
            at=self.now,
            size=self.size.value,
            running=self.size.running,
            idle=idle,
            effective=() if resolved is None else resolved.effective.values,
            read=read,
        )


def _shown(use: DeviceUse, now: Instant) -> DeviceEvidence:
    device, loudest = use.device, use.loudest
    return DeviceEvidence(
        device=f"{device.uuid}/{device.instance}" if device.instance else device.uuid,
        pods=use.pods,
        peak_percent=use.peak,
        signal=None if loudest is None else loudest.name,
        samples=use.samples,
        sample_age_seconds=None if use.latest is None else now - use.latest,
    )


def _partitions(
    snapshot: Snapshot,
    namespace: str,
    kinds: frozenset[Kind],
    resolved: Resolved | None = None,
) -> frozenset[Partition]:
    """List what was read; a Workload that is not found yet may appear in any ClusterQueue."""
    parts: set[Partition] = {(Part.SOURCE, kind) for kind in (*kinds, Kind.HPAS)}
    parts |= {(Part.TARGETS, namespace), (Part.PODS, namespace), (Part.NODES, "")}
    parts |= {(Part.USAGE, ""), (Part.POLICY, ""), (Part.QUOTA, "")}
    queue = None if resolved is None else resolved.cluster_queue
    if queue is not None:
        parts.add((Part.QUEUE, queue))
    elif Kind.WORKLOADS in kinds:
        parts |= {(Part.QUEUE, name) for name in (*snapshot.queues, *snapshot.cluster_queues)}
        parts.add((Part.OWNERS, ""))
    if resolved is not None:
        nodes = {pod.node for pod in resolved.component.pods if pod.node is not None}
        parts |= {
            (Part.PODS, pod.namespace)
            for node in nodes
            for pod in snapshot.gpu_pods_by_node.get(node, ())
        }
    return frozenset(parts)
