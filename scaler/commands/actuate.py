"""`actuate`: the controller that takes the workers of WorkerScales, and gives them back."""

import argparse
import os
from typing import TextIO

from scaler.commands.arguments import Commands, Exit, add_cluster_arguments, examples, refuse
from scaler.commands.certificate_arguments import add_certificate_arguments, certificate_files
from scaler.commands.cluster import policy_text
from scaler.commands.running import (
    GC_THRESHOLDS,
    add_policy_argument,
    add_status_argument,
    end_at_once,
    own_pod,
    status_url,
)
from scaler.settings import ActuatorSettings, Address

LEASE = "kueue-gpu-scaler-actuator"


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "actuate",
        help="take idle workers to zero as WorkerScales ask for it, and give them back",
        description="Do what WorkerScales ask for: take the workers of idle RayClusters, RayJobs, "
        "JobSets and TrainJobs while their Workloads keep their quota, and give them back. Of "
        "several processes the one that holds the Lease acts.",
        epilog=examples(
            "actuate --policy policy.yaml --kubeconfig ~/.kube/config --lease-namespace scaling"
        ),
    )
    add_policy_argument(parser)
    add_status_argument(parser, about="metrics, health, decisions, page")
    add_certificate_arguments(parser, port="status", clients="/healthz and /readyz go without")
    parser.add_argument(
        "--lease-namespace",
        default=os.environ.get("POD_NAMESPACE"),
        metavar="NAMESPACE",
        help="where the Lease is; default: the pod's own ($POD_NAMESPACE)",
    )
    parser.add_argument(
        "--lease-name", default=LEASE, metavar="NAME", help="the Lease; default: %(default)s"
    )
    parser.add_argument("--verbose", action="store_true", help="log debug messages")
    add_cluster_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Actuate until stopped; exit 2 with one sentence where it can't start."""
    import gc

    end_at_once()
    from scaler import log
    from scaler.actuation import run as actuate
    from scaler.certificates import CertificatesError
    from scaler.kube.credentials import NoClusterError
    from scaler.policyfile import PolicyError

    if not args.lease_namespace:
        return refuse("outside a pod actuate needs --lease-namespace NAMESPACE")
    try:
        policy_text(args.policy)
        settings = _settings(args)
    except ValueError as error:
        return refuse(str(error))
    log.configure(verbose=args.verbose)
    gc.set_threshold(*GC_THRESHOLDS)

    def started(status: Address) -> None:
        print(f"actuating, status on {status_url(settings, status)}", file=out, flush=True)

    try:
        actuate(settings, started)
    except PolicyError as error:
        return refuse(f"{args.policy} is no good policy:\n{error}")
    except CertificatesError as error:
        return refuse(f"no good certificates:\n{error}")
    except (NoClusterError, OSError) as error:
        return refuse(str(error))
    return Exit.DONE


def _settings(args: argparse.Namespace) -> ActuatorSettings:
    """Take the arguments.

    Raises:
        ValueError: files of certificates that are no use without another one.
    """
    files = certificate_files(args, "status")
    return ActuatorSettings(
        policy=args.policy,
        status=args.status,
        status_certificates=files["status"],
        kubeconfig=args.kubeconfig,
        context=args.context,
        pod=own_pod(os.environ),
        lease_namespace=args.lease_namespace,
        lease_name=args.lease_name,
    )
