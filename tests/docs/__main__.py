"""List what of the documents is run where, and what is not run at all, with its reason.

Usage: python -m tests.docs
"""

from tests.docs.blocks import REASONED, Block, blocks_of, pages
from tests.docs.commands import Where, where
from tests.docs.objects import checked_blocks, objects
from tests.report import say

PLACES = {
    Where.HERE: "make test",
    Where.PEERS: "make peers",
    Where.CLUSTER: "make e2e, scenario D1",
}


def untried() -> list[tuple[Block, str]]:
    """Give each block that is not tried, with its reason."""
    return [
        (block, reason)
        for page in pages()
        for block in blocks_of(page)
        for mark, reason in block.marks.items()
        if mark in REASONED
    ]


def main() -> None:
    """Print all of it."""
    for page in pages():
        for block in blocks_of(page):
            place = where(block)
            if place in PLACES:
                say(f"{block.place}: {PLACES[place]}")
        for block in checked_blocks(page):
            kinds = ", ".join(each["kind"] for each in objects(block)) or "policy"
            say(f"{block.place}: check, and scenario D1 of make e2e: {kinds}")
    say("\nnot tried:")
    for block, reason in untried():
        say(f"{block.place}: {reason}")


if __name__ == "__main__":
    main()
