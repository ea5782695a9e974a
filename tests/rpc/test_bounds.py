"""What clients send is bounded in what it costs, whoever they are."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import quote

import grpc
import pytest

from scaler.core.decision import Status
from scaler.rpc.servicer import LARGEST_KEPT, LONGEST_MESSAGE, _known_metric, cut
from scaler.store import MAX_ASKED
from tests.rpc.fakes import QUEUE, Peer, code_of, make_decision, serving


def run(test: Callable[[Peer], Awaitable[None]]) -> None:
    """Run a test against a served peer."""

    async def body() -> None:
        async with serving() as peer:
            await test(peer)

    asyncio.run(body())


def test_a_refusal_with_many_problems_still_arrives() -> None:
    """A message above what a client takes would reach KEDA as RESOURCE_EXHAUSTED."""

    async def test(peer: Peer) -> None:
        many = QUEUE | {f"unknown\u00e9{number}": "x" for number in range(500)}
        code, text = await code_of(lambda: peer.stub.GetMetricSpec(peer.request(many)))
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert text.endswith(" ...")

    run(test)


def test_a_hold_with_a_long_sentence_still_arrives() -> None:
    """The same for a target at zero whose metadata turned bad."""

    async def test(peer: Peer) -> None:
        detail = "\u00e9t\u00e9 " * 5_000
        peer.publish(make_decision(peer.ref(), status=Status.HOLD, detail=detail))
        code, text = await code_of(peer.metrics)
        assert code is grpc.StatusCode.UNAVAILABLE
        assert text.endswith(" ...")

    run(test)


@pytest.mark.parametrize(
    "message", ["a" * 9_000, "\u00e9" * 9_000, "% " * 9_000, "\U0001f600 " * 2_000, "\n" * 9_000]
)
def test_a_message_is_as_long_as_its_encoding(message: str) -> None:
    """No byte takes more than three characters, and no character is cut in two."""
    short = cut(message)
    assert short.endswith(" ...")
    kept = short.removesuffix(" ...")
    assert message.startswith(kept)
    assert LONGEST_MESSAGE - 12 <= len(quote(kept, safe=" ")) <= LONGEST_MESSAGE


def test_large_metadata_is_not_kept() -> None:
    """Twenty thousand of the largest messages would be more than a gigabyte."""

    async def test(peer: Peer) -> None:
        _known_metric.cache_clear()
        large = QUEUE | {"caCert": "x" * LARGEST_KEPT}
        first = await peer.stub.GetMetricSpec(peer.request(large))
        assert first == await peer.stub.GetMetricSpec(peer.request(large))
        assert _known_metric.cache_info().currsize == 0
        await peer.stub.GetMetricSpec(peer.request())
        assert _known_metric.cache_info().currsize == 1

    run(test)


def test_the_observer_decides_for_so_many_strangers_and_no_more() -> None:
    """Endless distinct metadata must not keep it from the triggers of ScaledObjects."""

    async def test(peer: Peer) -> None:
        for number in range(MAX_ASKED + 5):
            peer.store.ask(peer.ref(QUEUE | {"pool": f"p{number}"}), now=peer.clock.now)
        asked = peer.store.asked(since=0.0)
        assert len(asked) == MAX_ASKED
        assert peer.ref(QUEUE | {"pool": "p0"}) not in asked
        assert peer.ref(QUEUE | {"pool": f"p{MAX_ASKED + 4}"}) in asked

    run(test)
