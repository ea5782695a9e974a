"""What `explain -o json` says, read strictly, and the sentences that cases are asserted in."""

import msgspec

from scaler.core.reasons import Reason


class Told(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """What KEDA gets."""

    code: str
    get_metric_spec: str = "OK"
    is_active: bool | None = None
    metric_values: tuple[int, ...] | None = None
    message: str = ""


class Count(msgspec.Struct, rename="camel", frozen=True, forbid_unknown_fields=True):
    """Workloads of one class in one ClusterQueue."""

    cluster_queue: str
    workload_class: str
    workloads: int
    gpus: int


class Pool(msgspec.Struct, rename="camel", frozen=True):
    """A pool's evidence."""

    present: int
    usable: int
    coming: int
    broken: int
    new: int
    size: int | None
    capped: bool
    pods_fit_no_node: int


class Queue(msgspec.Struct, rename="camel", frozen=True):
    """A queue signal's evidence."""

    classes: tuple[Count, ...]
    counted: tuple[Count, ...]
    pool: Pool | None
    missing_cluster_queues: tuple[str, ...]
    not_routable: int
    not_counted_dra: int
    skipped_objects: int

    def demand(self) -> int:
        """Sum the GPUs of classes B, D and J that count."""
        return sum(row.gpus for row in self.counted if row.workload_class != "A")

    def workloads(self, workload_class: str) -> int:
        """Count the Workloads of a class."""
        return sum(row.workloads for row in self.classes if row.workload_class == workload_class)


class Device(msgspec.Struct, rename="camel", frozen=True):
    """A device's evidence."""

    device: str
    pods: tuple[str, ...]
    peak_percent: float | None
    signal: str | None


class Idle(msgspec.Struct, rename="camel", frozen=True):
    """An idle signal's evidence."""

    workload: str
    component: str
    verdict: str
    pods: tuple[str, ...]
    gpus_requested: int
    devices: tuple[Device, ...]
    physical_gpus: int
    idle_seconds: float | None
    idle_after_seconds: float


class Evidence(msgspec.Struct, rename="camel", frozen=True):
    """What a decision was made from."""

    detail: str
    size: int | None = None
    queue: Queue | None = None
    idle: Idle | None = None
    problems: tuple[str, ...] = ()


class Setting(msgspec.Struct, frozen=True):
    """A setting in force and the rule that gave it."""

    key: str
    value: str
    rule: str


class Explained(msgspec.Struct, frozen=True):
    """What `explain -o json` printed."""

    status: str
    active: bool | None
    value: int | None
    reason: str
    evidence: Evidence
    answer: Told
    effective: tuple[Setting, ...]

    @property
    def queue(self) -> Queue:
        """Give the evidence of a queue signal."""
        assert self.evidence.queue is not None
        return self.evidence.queue

    @property
    def pool(self) -> Pool:
        """Give the evidence of a pool."""
        assert self.queue.pool is not None
        return self.queue.pool

    @property
    def idle(self) -> Idle:
        """Give the evidence of an idle signal."""
        assert self.evidence.idle is not None
        return self.evidence.idle


class Ran(msgspec.Struct, frozen=True):
    """How the command ended."""

    code: int
    out: str
    err: str

    @property
    def explained(self) -> Explained:
        """Read what it printed."""
        assert not self.err, self.err
        return msgspec.json.decode(self.out, type=Explained)

    def says(self, *, active: bool, value: int, reason: Reason | None = None) -> Explained:
        """Assert that a value came out, that KEDA gets just that, and exit 0."""
        found = self.explained
        said = (found.status, found.active, found.value)
        assert said == ("OK", active, value), (said, found.reason, found.evidence)
        assert reason in (None, found.reason), (found.reason, found.evidence.detail)
        assert found.answer == Told(code="OK", is_active=active, metric_values=(value,))
        assert self.code == 0
        return found

    def holds(self, reason: Reason, *, running: bool = True) -> Explained:
        """Assert HOLD: true without a value while it runs, else UNAVAILABLE; and exit 3."""
        found = self.explained
        said = (found.status, found.active, found.value)
        assert said == ("HOLD", None, None), (said, found.reason, found.evidence)
        assert found.reason == reason, (found.reason, found.evidence.detail)
        if running:
            assert found.answer == Told(code="OK", is_active=True, metric_values=())
        else:
            assert (found.answer.code, found.answer.is_active) == ("UNAVAILABLE", None)
            assert found.answer.metric_values is None
            assert str(reason) in found.answer.message
        assert found.evidence.detail
        assert self.code == 3
        return found

    def refuses(self, *words: str) -> Explained:
        """Assert INVALID_ARGUMENT whose problems name all the words; and exit 2."""
        found = self.explained
        assert (found.status, found.active, found.value) == ("INVALID_ARGUMENT", None, None)
        assert found.answer.get_metric_spec == "INVALID_ARGUMENT"
        told = "\n".join(found.evidence.problems)
        assert all(word in told for word in words), told
        assert self.code == 2
        return found
