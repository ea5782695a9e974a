"""The command line, one subcommand a job.

What a process ends with is `scaler.commands.arguments.Exit`.
"""

import argparse
import errno
import os
import sys
from collections.abc import Sequence

import scaler
from scaler.commands import actuate, capture, check, demo, explain, serve
from scaler.commands.arguments import Exit, HelpFormatter, examples, program, refuse

DESCRIPTION = "Scale GPU node pools and idle GPU workers from what Kueue and DCGM say, for KEDA."

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of writing alone, and of no defect."""


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    root = argparse.ArgumentParser(
        prog=program(),
        description=DESCRIPTION,
        epilog=examples("demo", "serve --policy policy.yaml", "explain team-a/llm"),
        formatter_class=HelpFormatter,
    )
    version = f"{root.prog} {scaler.__version__}"
    root.add_argument("--version", action="version", version=version)
    commands = root.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND"
    )
    for command in (serve, actuate, demo, explain, check, capture):
        command.add_parser(commands)
    for each in commands.choices.values():
        each.formatter_class = HelpFormatter
        each.add_argument("--version", action="version", version=version)
    return root


def entry(argv: Sequence[str] | None = None) -> int:
    """Run a command; every refusal is one sentence, never a traceback."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has gone; nothing is left to be said to it.
        _drop_output()
        return Exit.DONE
    except OSError as error:
        if error.errno not in FULL:
            raise
        _drop_output()
        return refuse(f"the output can't be written: {error.strerror}")


def _drop_output() -> None:
    """Let what is still to be written go nowhere: the interpreter tries again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(argv: Sequence[str] | None) -> int:
    try:
        args = parser().parse_args(argv)
        return int(args.run(args, sys.stdout))
    finally:
        # Here, where a reader that has gone is no error: at the interpreter's end it would be one.
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(entry())
