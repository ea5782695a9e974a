"""The page of the command line and its exit codes, from the parser."""

import argparse
from collections.abc import Iterator, Mapping

from docs.generate.docstrings import told
from docs.generate.markdown import code, page, section, sentence, table
from scaler import cli
from scaler.commands.arguments import Exit

HEAD = ("argument", "meaning")
PROGRAM = "kueue-gpu-scaler"


def commands_page() -> str:
    """Give docs/reference/commands.md."""
    return page(
        "Commands",
        "Every command with its arguments, and what its exit code says.",
        section(
            "Exit codes",
            table(("code", "meaning"), ((code(each.value), _exit(each)) for each in Exit)),
        ),
        *(_command(name, parser) for name, parser in commands().items()),
    )


def commands() -> Mapping[str, argparse.ArgumentParser]:
    """Give the parser of each command."""
    root = cli.parser()
    (sub,) = (
        each
        for each in root._actions  # noqa: SLF001 - argparse tells of its arguments nowhere else
        if isinstance(each, argparse._SubParsersAction)  # noqa: SLF001 - as above
    )
    choices: Mapping[str, argparse.ArgumentParser] = sub.choices
    return choices


def _exit(each: Exit) -> str:
    return sentence(told(Exit, each.name))


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    examples = (parser.epilog or "").partition("\n")[2]
    shown = "\n".join(f"- {code(line.strip())}" for line in examples.splitlines())
    return section(
        code(f"{PROGRAM} {name}"),
        " ".join((parser.description or "").split()),
        table(HEAD, _arguments(parser)),
        f"Examples:\n\n{shown}",
    )


def _arguments(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:  # noqa: SLF001 - as above
        if "--help" in action.option_strings:
            continue
        told_of = (action.help or "") % {**vars(action), "prog": parser.prog}
        yield code(_written(action)), sentence(told_of)


def _written(action: argparse.Action) -> str:
    value = _value(action)
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + (f" {value}" if value else "")


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return action.dest.upper()
