"""What of the documents takes longer than a test may: played by `make peers`."""

import tempfile
from pathlib import Path

from tests.docs.blocks import Block, pages
from tests.docs.commands import CommandError, Where, command_blocks, run_all, workplace
from tests.e2e.ports import free_ports
from tests.report import Report

TUTORIAL_PORT = "8090"
"""Of the demo, as the tutorial has it; here it is any free one."""


def run(report: Report) -> None:
    """Run the blocks of each page, and print a line for it."""
    for page in pages():
        blocks = command_blocks(page, Where.PEERS)
        if blocks:
            _page(report, page, blocks)


def _page(report: Report, page: str, blocks: tuple[Block, ...]) -> None:
    (port,) = free_ports(1)
    wrong = ""
    with tempfile.TemporaryDirectory() as folder, workplace(page, Path(folder)) as place:
        try:
            run_all(place, [moved(block, port) for block in blocks])
        except CommandError as error:
            wrong = str(error)
    report.check(f"the commands of {page}", ok=not wrong, found=wrong)


def moved(block: Block, port: int) -> Block:
    """Give a block that uses a free port."""
    return Block(
        page=block.page,
        line=block.line,
        language=block.language,
        marks=block.marks,
        text=block.text.replace(TUTORIAL_PORT, str(port)),
    )
