"""`serve`: the gRPC service for KEDA and the HTTP status port."""

import argparse
import os
from typing import TextIO

from scaler.commands.arguments import (
    Commands,
    Exit,
    add_cluster_arguments,
    address,
    examples,
    refuse,
)
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
from scaler.settings import Address, Settings


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "serve",
        help="serve KEDA over gRPC, and people over HTTP",
        description="Serve KEDA over gRPC; show metrics, health, decisions and a page over HTTP.",
        epilog=examples("serve --policy policy.yaml --kubeconfig ~/.kube/config"),
    )
    add_policy_argument(parser)
    parser.add_argument(
        "--grpc",
        type=address,
        default=address(":6000"),
        metavar="HOST:PORT",
        help="where KEDA asks; default: %(default)s",
    )
    add_certificate_arguments(parser, port="grpc", clients="nobody else gets in")
    add_status_argument(parser, about="metrics, health, decisions, page")
    add_certificate_arguments(parser, port="status", clients="/healthz and /readyz go without")
    parser.add_argument(
        "--drain",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long to answer on, not ready, after the signal to stop; from 5 s on connections "
        "grow no older, so that each has left by then; default: %(default)g s",
    )
    parser.add_argument("--verbose", action="store_true", help="log debug messages")
    add_cluster_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace, out: TextIO) -> int:
    """Serve until stopped; exit 2 with one sentence where it can't start."""
    import asyncio
    import gc

    end_at_once()
    from scaler import log
    from scaler.app import run as serve
    from scaler.certificates import CertificatesError
    from scaler.kube.credentials import NoClusterError
    from scaler.policyfile import PolicyError

    try:
        policy_text(args.policy)
        settings = _settings(args)
    except ValueError as error:
        return refuse(str(error))
    log.configure(verbose=args.verbose)
    gc.set_threshold(*GC_THRESHOLDS)

    def started(grpc: Address, status: Address) -> None:
        tls = " with TLS" if settings.grpc_certificates else ""
        where = status_url(settings, status)
        print(f"serving gRPC on {grpc}{tls}, status on {where}", file=out, flush=True)

    try:
        asyncio.run(serve(settings, started))
    except PolicyError as error:
        return refuse(f"{args.policy} is no good policy:\n{error}")
    except CertificatesError as error:
        return refuse(f"no good certificates:\n{error}")
    except (NoClusterError, OSError) as error:
        return refuse(str(error))
    return Exit.DONE


def _settings(args: argparse.Namespace) -> Settings:
    """Take the arguments.

    Raises:
        ValueError: files of certificates that are no use without another one.
    """
    files = certificate_files(args, "grpc", "status")
    return Settings(
        policy=args.policy,
        grpc=args.grpc,
        grpc_certificates=files["grpc"],
        status=args.status,
        status_certificates=files["status"],
        kubeconfig=args.kubeconfig,
        context=args.context,
        drain_seconds=args.drain,
        pod=own_pod(os.environ),
    )
