"""How a command line names a ScaledObject or WorkerScale, and the policy to decide with."""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scaler.commands.arguments import POLICY, add_cluster_arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scaler.core.model import Name
    from scaler.core.policy import Policy
    from scaler.core.snapshot import Snapshot
    from scaler.live import Look, PageKeeper

KINDS = frozenset(
    {"scaledobject", "scaledobjects", "so", "scaledobject.keda.sh", "scaledobjects.keda.sh"}
)
"""What kubectl calls the kind."""
SCALE_KINDS = frozenset(
    {
        "workerscale",
        "workerscales",
        "wscale",
        "workerscale.kueue-gpu-scaler.dev",
        "workerscales.kueue-gpu-scaler.dev",
    }
)
"""What kubectl calls our own kind."""
SHOWN = 20
"""Objects that a refusal names."""


def add_live_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what a look at a cluster takes.

    Without a policy the pod's own is taken, else the built-in defaults.
    """
    add_cluster_arguments(parser)
    parser.set_defaults(clock=time.time)
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help=f"default: {POLICY} where it exists, else the built-in defaults",
    )
    parser.add_argument("-n", "--namespace", metavar="NAMESPACE", help="with NAME or KIND/NAME")


def name_of(text: str, namespace: str | None) -> "Name":
    """Read `NAMESPACE/NAME`, or with a namespace `NAME` or `scaledobject/NAME`.

    Raises:
        ValueError: one sentence that says what is allowed.
    """
    first, slash, rest = text.partition("/")
    if namespace is not None and (not slash or first.lower() in KINDS):
        name = rest if slash else first
        if name and "/" not in name:
            return namespace, name
    if namespace is None and first and rest and "/" not in rest:
        return first, rest
    raise ValueError(
        f"{text!r} names no ScaledObject; NAMESPACE/NAME or scaledobject/NAME -n NAMESPACE does, "
        "and a WorkerScale workerscale/NAME -n NAMESPACE"
    )


def scale_name_of(text: str, namespace: str | None) -> "Name | None":
    """Read `workerscale/NAMESPACE/NAME`, or with a namespace `workerscale/NAME`.

    None where it names something else.
    """
    kind, _, rest = text.partition("/")
    if kind.lower() not in SCALE_KINDS:
        return None
    first, slash, second = rest.partition("/")
    if namespace is not None and first and not slash:
        return namespace, first
    if namespace is None and first and second and "/" not in second:
        return first, second
    return None


def policy_text(path: Path | None) -> str | None:
    """Read the policy's file; None where none is named and none is in its usual place.

    Raises:
        ValueError: it can't be read, in one sentence.
    """
    if path is None and not POLICY.exists():
        said = f"no --policy, and {POLICY} does not exist: deciding by the built-in defaults"
        sys.stderr.write(f"kueue-gpu-scaler: {said}\n")
        return None
    named = path or POLICY
    try:
        return named.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{named} is no UTF-8 text") from error
    except OSError as error:
        raise ValueError(f"{named} can't be read: {error.strerror or error}") from error


def parsed_policy(text: str | None, path: Path | None) -> "Policy":
    """Parse a policy's text; None = the built-in defaults.

    Raises:
        ValueError: every problem of it.
    """
    from scaler.core.policy import Policy
    from scaler.policyfile import parse_policy

    parsed = Policy() if text is None else parse_policy(text)
    if isinstance(parsed, Policy):
        return parsed
    problems = "\n".join(str(problem) for problem in parsed)
    raise ValueError(f"{path or POLICY} is no good policy:\n{problems}")


def look_at(
    args: argparse.Namespace,
    policy: "Policy",
    *,
    keeper: "PageKeeper | None" = None,
    whole: bool = False,
) -> "Look":
    """Look at the cluster that the arguments lead to; `whole`: with all that `actuate` reads.

    Raises:
        NoClusterError: there is no way to a cluster.
        UnreadableError: its ScaledObjects can't be read.
    """
    from scaler import log
    from scaler.kube.client import ApiServer
    from scaler.kube.credentials import find_credentials
    from scaler.kube.resources import ACTUATOR_RESOURCES, RESOURCES
    from scaler.live import look

    api = ApiServer(find_credentials(args.kubeconfig, context=args.context))
    # What can't be read is in the decisions and is told there; a log would say it twice.
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        log.configure(stream=nowhere)
        try:
            return look(
                api,
                policy=policy,
                clock=args.clock,
                keeper=keeper,
                resources=ACTUATOR_RESOURCES if whole else RESOURCES,
            )
        finally:
            log.configure()
            api.close()


def unknown(look: "Look", name: "Name") -> str | None:
    """Say in one sentence that a ScaledObject isn't ours, and which are; None where it is."""
    ours = look.ours()
    if name in ours:
        return None
    wanted = "/".join(name)
    told = "has no trigger of ours" if name in look.snapshot.scaled_objects else "does not exist"
    if name in look.snapshot.worker_scales:
        told += f" (a WorkerScale does: workerscale/{name[1]} -n {name[0]})"
    if not ours:
        return f"ScaledObject {wanted} {told}; no ScaledObject of this cluster has one"
    return f"ScaledObject {wanted} {told}; those that have one: {_listed(ours)}"


def unknown_scale(snapshot: "Snapshot", name: "Name") -> str | None:
    """Say in one sentence that there is no such WorkerScale, and which are; None where it is."""
    from scaler.core.model import Kind

    scales = snapshot.worker_scales
    if name in scales:
        return None
    source = snapshot.sources.get(Kind.WORKER_SCALES)
    if source is None or not source.synced:
        why = (
            "the CRD is not installed" if source and not source.installed else "they can't be read"
        )
        problem = f": {source.problem}" if source and source.problem else ""
        return f"WorkerScale {'/'.join(name)} is not known: {why}{problem}"
    known = f"those that do: {_listed(sorted(scales))}" if scales else "there is none"
    return f"WorkerScale {'/'.join(name)} does not exist; {known}"


def _listed(names: "Sequence[Name]") -> str:
    shown = ", ".join("/".join(each) for each in names[:SHOWN])
    return shown + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
