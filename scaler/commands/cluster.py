"""How a command line leads to a cluster, and the policy to decide with."""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from scaler.commands.arguments import POLICY, add_cluster_arguments, program
from scaler.commands.names import Named, Sort, not_there
from scaler.core.model import Kind

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from scaler.core.model import Name
    from scaler.core.policy import Policy
    from scaler.core.trigger import TriggerRef
    from scaler.live import Look, PageKeeper


INSTALLED = "kubectl get configmap kueue-gpu-scaler-policy -n kueue-gpu-scaler -o yaml"
"""Gives the policy of an installation that has the names of `deploy/`."""


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
        help="a policy, or a ConfigMap that holds one; "
        f"default: {POLICY} where it exists, else the built-in defaults",
    )
    parser.add_argument("-n", "--namespace", metavar="NAMESPACE", help="with NAME or KIND/NAME")


def policy_text(path: Path | None) -> str | None:
    """Read the policy's file, or the policy in a ConfigMap's.

    None where none is named and none is in its usual place.

    Raises:
        ValueError: it can't be read, in one sentence.
    """
    if path is None and not POLICY.exists():
        said = f"no --policy, and {POLICY} does not exist: deciding by the built-in defaults"
        sys.stderr.write(f"{program()}: {said}; the installed one: {INSTALLED}\n")
        return None
    named = path or POLICY
    try:
        return _unwrapped(named.read_text("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{named} is no UTF-8 text") from error
    except OSError as error:
        raise ValueError(f"{named} can't be read: {error.strerror or error}") from error


def _unwrapped(text: str) -> str:
    """Give the policy of a ConfigMap that holds one; whatever else it is, the text itself."""
    from scaler.commands.check_files import POLICY_KEY, at
    from scaler.policyfile.document import read_documents

    if "ConfigMap" not in text:
        return text
    documents, _ = read_documents(text)
    if len(documents) != 1 or at(documents[0], "kind") != "ConfigMap":
        return text
    entries = at(documents[0], "data")
    held = entries.items() if isinstance(entries, Mapping) else ()
    policies = [one for key, one in held if key.endswith(POLICY_KEY) and isinstance(one, str)]
    return policies[0] if len(policies) == 1 else text


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
    also: "Sequence[TriggerRef]" = (),
) -> "Look":
    """Look at the cluster that the arguments lead to; `whole`: with all that `actuate` reads.

    `also` are triggers that Prometheus is asked for beside those of the cluster.

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
                also=also,
            )
        finally:
            log.configure()
            api.close()


def also_asked(what: Named | None) -> "tuple[TriggerRef, ...]":
    """Give what asks for a Workload's own readings, whether a trigger speaks of it or not."""
    from scaler.core.account.readers import own_ref

    return (own_ref(what.name),) if what is not None and what.sort is Sort.WORKLOAD else ()


def unknown(look: "Look", what: Named) -> str | None:
    """Say in one sentence that an object is not there, and which are; None where it is."""
    match what.sort:
        case Sort.SCALED_OBJECT:
            return _unknown_scaled_object(look, what)
        case Sort.WORKER_SCALE:
            return _unread(look, what, Kind.WORKER_SCALES, look.snapshot.worker_scales)
        case Sort.CLUSTER_QUEUE:
            queues = [("", name) for name in look.snapshot.cluster_queues]
            return _unread(look, what, Kind.CLUSTER_QUEUES, queues)
        case Sort.WORKLOAD:
            return _unread(look, what, Kind.WORKLOADS, look.snapshot.workload_index)
        case _:
            assert_never(what.sort)


def _unknown_scaled_object(look: "Look", what: Named) -> str | None:
    """Say that a ScaledObject isn't ours, and which are."""
    name, ours = what.name, look.ours()
    if name in ours:
        return None
    told = "has no trigger of ours" if name in look.snapshot.scaled_objects else "does not exist"
    if name in look.snapshot.worker_scales:
        told += f" (a WorkerScale does: workerscale/{name[1]} -n {name[0]})"
    if not ours:
        return f"{what} {told}; no ScaledObject of this cluster has one"
    return not_there(what, ours, told=told, which="those that have one:")


def _unread(look: "Look", what: Named, kind: Kind, names: "Collection[Name]") -> str | None:
    """Say that an object does not exist, or that nobody knows."""
    if what.name in names:
        return None
    source = look.snapshot.sources.get(kind)
    if source is None or not source.synced:
        absent = source is not None and not source.installed
        why = "the CRD is not installed" if absent else "they can't be read"
        problem = f": {source.problem}" if source and source.problem else ""
        return f"{what} is not known: {why}{problem}"
    told = "does not exist" + (" or is Finished" if what.sort is Sort.WORKLOAD else "")
    near = [name for name in names if name[0] == what.name[0]]
    return not_there(what, near or names, told=told, which="those that do:")
