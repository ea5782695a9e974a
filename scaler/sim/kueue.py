"""The simplest honest Kueue: a Workload for each Job or RayCluster, priority, FIFO and quota.

Conditions, reasons and messages are those of Kueue 0.19, or 0.17 where told so. A deactivated
Workload is evicted. Borrowing, cohorts, admission checks and preemption are not here.
"""

from collections import Counter
from collections.abc import Iterator

from scaler.core.model import Kind, Name
from scaler.core.quantity import amount, minus, times
from scaler.sim.clock import Clock
from scaler.sim.conditions import is_true, set_condition
from scaler.sim.integrations import (
    PLURALS,
    QUEUE,
    finished,
    same_size,
    start,
    stop,
    workload_name,
    workload_of,
)
from scaler.sim.objects import Objects, name_of
from scaler.sim.patches import Document
from scaler.sim.pods import requests_of
from scaler.sim.quota import HOSTNAME, Fits, Ground, Waits, assign_all, usage_of
from scaler.sim.room import room_for_admission

STOPPED = ("Hold", "HoldAndDrain")


class Kueue:
    """Queue Jobs, admit what fits, say why the rest waits."""

    def __init__(self, *, objects: Objects, clock: Clock, reasons_of_0_17: bool = False) -> None:
        self._objects = objects
        self._clock = clock
        self._old = reasons_of_0_17

    def step(self) -> None:
        """Make Workloads, finish them, then go through each ClusterQueue once."""
        for plural in PLURALS:
            for job in self._objects.all(plural):
                if QUEUE in job["metadata"].get("labels", {}):
                    self._follow(plural, job)
        pending = [w for w in self._open() if not is_true(w, "QuotaReserved")]
        self._free = room_for_admission(self._objects)
        for queue in self._objects.all(Kind.CLUSTER_QUEUES):
            self._admit(queue, self._of(queue, pending))
        for workload in pending:
            if self._queue_of(workload) is None:
                self._wait(workload, self._unroutable(workload), old="Inadmissible")

    # --- jobs ----------------------------------------------------------------------------------

    def _follow(self, plural: str, job: Document) -> None:
        name = (job["metadata"]["namespace"], workload_name(job))
        workload = self._objects.get(Kind.WORKLOADS, name)
        if workload is None:
            self._objects.create(Kind.WORKLOADS, workload_of(job))
        elif finished(job):
            self._condition(
                name, "Finished", reason="Succeeded", message="Job finished successfully"
            )
        elif not same_size(job, workload):
            self._objects.modify(plural, name_of(job), lambda after: stop(after, workload))
            self._objects.delete(Kind.WORKLOADS, name)
        elif is_true(workload, "Admitted"):
            self._keep(plural, job, workload)

    def _keep(self, plural: str, job: Document, workload: Document) -> None:
        """Let an admitted job run, whoever suspended it; evict it where it is deactivated."""
        if not workload["spec"].get("active", True):
            self._objects.modify(plural, name_of(job), lambda after: stop(after, workload))
            self._evict(workload)
        elif job["spec"]["suspend"]:
            self._start(workload, workload["status"]["admission"])

    def _evict(self, workload: Document) -> None:
        name, message = name_of(workload), "The workload is deactivated"
        self._objects.modify(Kind.WORKLOADS, name, _forget_admission)
        self._condition(name, "Evicted", reason="Deactivated", message=message)
        for type_, reason in (("QuotaReserved", "Pending"), ("Admitted", "NoReservation")):
            self._condition(name, type_, reason=reason, message=message, status=False)

    def _start(self, workload: Document, admission: Document) -> None:
        owner = workload["metadata"]["ownerReferences"][0]
        plural = next(p for p in PLURALS if self._objects.resources[p].kind == owner["kind"])
        labels = {
            part["name"]: self._labels_of(set(part["flavors"].values()))
            for part in admission["podSetAssignments"]
        }

        def write(job: Document) -> None:
            start(job, workload, cluster_queue=admission["clusterQueue"], node_labels=labels)

        self._objects.modify(plural, (workload["metadata"]["namespace"], owner["name"]), write)

    def _labels_of(self, flavors: set[str]) -> dict[str, str]:
        found = [self._objects.get(Kind.RESOURCE_FLAVORS, ("", flavor)) for flavor in flavors]
        return {k: v for f in found if f for k, v in f["spec"].get("nodeLabels", {}).items()}

    # --- queues --------------------------------------------------------------------------------

    def _open(self) -> list[Document]:
        return [w for w in self._objects.all(Kind.WORKLOADS) if not is_true(w, "Finished")]

    def _local_queue(self, workload: Document) -> Document | None:
        namespace, queue = workload["metadata"]["namespace"], workload["spec"]["queueName"]
        return self._objects.get(Kind.LOCAL_QUEUES, (namespace, queue))

    def _queue_of(self, workload: Document) -> Document | None:
        """Give the ClusterQueue that may take the Workload now; None while the way is closed."""
        local = self._local_queue(workload)
        if local is None or local["spec"].get("stopPolicy") in STOPPED:
            return None
        queue = self._objects.get(Kind.CLUSTER_QUEUES, ("", local["spec"]["clusterQueue"]))
        if queue is None or queue["spec"].get("stopPolicy") in STOPPED:
            return None
        return queue

    def _of(self, queue: Document, workloads: list[Document]) -> list[Document]:
        mine = []
        for workload in workloads:
            found = self._queue_of(workload)
            if found and name_of(found) == name_of(queue):
                mine.append(workload)
        return mine

    def _unroutable(self, workload: Document) -> tuple[str, str]:
        local = self._local_queue(workload)
        if local is None:
            return "Misconfigured", f"LocalQueue {workload['spec']['queueName']} doesn't exist"
        if local["spec"].get("stopPolicy") in STOPPED:
            return "Suspended", f"LocalQueue {local['metadata']['name']} is inactive"
        name = local["spec"]["clusterQueue"]
        if self._objects.get(Kind.CLUSTER_QUEUES, ("", name)) is None:
            return "Misconfigured", f"ClusterQueue {name} doesn't exist"
        return "Suspended", f"ClusterQueue {name} is inactive"

    def _admit(self, queue: Document, pending: list[Document]) -> None:
        strict = queue["spec"].get("queueingStrategy") == "StrictFIFO"
        blocked = False
        for workload in sorted(pending, key=_order):
            if not workload["spec"].get("active", True):
                self._wait(workload, ("Deactivated", "The workload is deactivated"), old="Pending")
            elif not blocked:
                answer = assign_all(workload["spec"]["podSets"], queue, self._ground(queue))
                if isinstance(answer, Waits):
                    self._refuse(workload, answer)
                    blocked = strict
                else:
                    self._reserve(workload, queue, answer)
        self._report(queue)

    def _ground(self, queue: Document) -> Ground:
        flavors = self._objects.all(Kind.RESOURCE_FLAVORS)
        return Ground(
            used=self._used(queue),
            flavors={flavor["metadata"]["name"]: flavor for flavor in flavors},
            nodes=self._objects.all(Kind.NODES),
            free=self._free,
        )

    def _admissions(self, queue: Document) -> Iterator[Document]:
        for workload in self._open():
            admission = workload.get("status", {}).get("admission")
            if admission and admission["clusterQueue"] == queue["metadata"]["name"]:
                yield admission

    def _used(self, queue: Document) -> Counter[tuple[str, str]]:
        used: Counter[tuple[str, str]] = Counter()
        for admission in self._admissions(queue):
            for part in admission["podSetAssignments"]:
                for resource, flavor in part["flavors"].items():
                    used[flavor, resource] += amount(resource, part["resourceUsage"][resource])
        return used

    # --- status --------------------------------------------------------------------------------

    def _reserve(self, workload: Document, queue: Document, fits: list[Fits]) -> None:
        pod_sets, name = workload["spec"]["podSets"], queue["metadata"]["name"]
        parts = [_assignment(pod_set, fit) for pod_set, fit in zip(pod_sets, fits, strict=True)]
        for pod_set, fit in zip(pod_sets, fits, strict=True):
            each = requests_of(pod_set["template"]["spec"])
            for host, pods in fit.hosts.items():
                self._free[host] = minus(self._free[host], times(each, pods))
        admission = {"clusterQueue": name, "podSetAssignments": parts}

        def write(after: Document) -> None:
            status = after.setdefault("status", {})
            status["admission"] = admission
            status.pop("resourceRequests", None)

        self._objects.modify(Kind.WORKLOADS, name_of(workload), write)
        if is_true(workload, "Evicted"):
            text = "Previously: The workload is deactivated"
            self._condition(
                name_of(workload), "Evicted", reason="QuotaReserved", message=text, status=False
            )
        message = f"Quota reserved in ClusterQueue {name}"
        self._condition(name_of(workload), "QuotaReserved", reason="QuotaReserved", message=message)
        message = "The workload is admitted"
        self._condition(name_of(workload), "Admitted", reason="Admitted", message=message)
        self._start(workload, admission)

    def _refuse(self, workload: Document, waits: Waits) -> None:
        pod_sets = workload["spec"]["podSets"]
        requests = [{"name": p["name"], "resources": _totals(p)} for p in pod_sets]

        def write(after: Document) -> None:
            after.setdefault("status", {})["resourceRequests"] = requests

        self._objects.modify(Kind.WORKLOADS, name_of(workload), write)
        self._wait(workload, (waits.cause, waits.message), old="Pending")

    def _wait(self, workload: Document, why: tuple[str, str], *, old: str) -> None:
        reason, message = why
        self._condition(
            name_of(workload),
            "QuotaReserved",
            reason=old if self._old else reason,
            message=message,
            status=False,
        )

    def _condition(
        self, name: Name, type_: str, *, reason: str, message: str, status: bool = True
    ) -> None:
        def write(after: Document) -> None:
            set_condition(
                after, type_, status=status, reason=reason, message=message, now=self._clock.now()
            )

        self._objects.modify(Kind.WORKLOADS, name, write)

    def _report(self, queue: Document) -> None:
        mine = self._of(queue, self._open())
        admitted = sum(is_true(workload, "Admitted") for workload in mine)

        def write(after: Document) -> None:
            after.setdefault("status", {}).update(
                admittedWorkloads=admitted,
                reservingWorkloads=admitted,
                pendingWorkloads=len(mine) - admitted,
            )
            message = "Can admit new workloads"
            now = self._clock.now()
            set_condition(after, "Active", status=True, reason="Ready", message=message, now=now)

        self._objects.modify(Kind.CLUSTER_QUEUES, name_of(queue), write)


def _order(workload: Document) -> tuple[int, str, str]:
    metadata = workload["metadata"]
    priority = workload["spec"].get("priority", 0)
    return (-priority, metadata["creationTimestamp"], metadata["uid"])


def _forget_admission(workload: Document) -> None:
    workload["status"].pop("admission", None)


def _assignment(pod_set: Document, fits: Fits) -> Document:
    part: Document = {
        "name": pod_set["name"],
        "count": pod_set["count"],
        "flavors": fits.flavors,
        "resourceUsage": _totals(pod_set),
    }
    if fits.hosts:
        part["topologyAssignment"] = _topology(fits.hosts)
    return part


def _totals(pod_set: Document) -> dict[str, str]:
    return {r: f"{n}m" if r == "cpu" else str(n) for r, n in usage_of(pod_set).items()}


def _topology(hosts: dict[str, int]) -> Document:
    slices = [
        {
            "domainCount": 1,
            "podCounts": {"universal": pods},
            "valuesPerLevel": [{"universal": host}],
        }
        for host, pods in hosts.items()
    ]
    return {"levels": [HOSTNAME], "slices": slices}
