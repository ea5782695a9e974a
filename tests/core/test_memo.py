"""What is remembered, and for how long."""

from scaler.core.memo import Memo


class Counter:
    """Count how often something is built."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self) -> int:
        """Build one more."""
        self.built += 1
        return self.built


def test_a_value_is_built() -> None:
    """A value is built once while its parts are the same objects."""
    memo, build, part = Memo(), Counter(), ["part"]
    assert memo.recall("key", (part,), build) == memo.recall("key", (part,), build) == 1


def test_an_equal_part_that_is_another() -> None:
    """An equal part that is another object builds anew."""
    memo, build = Memo(), Counter()
    memo.recall("key", (["part"],), build)
    assert memo.recall("key", (["part"],), build) == 2


def test_one_more_part_builds() -> None:
    """One more part builds anew."""
    memo, build, part = Memo(), Counter(), ["part"]
    memo.recall("key", (part,), build)
    assert memo.recall("key", (part, part), build) == 2


def test_a_value_that_is_no_longer() -> None:
    """A value that is no longer valid is built anew."""
    memo, build, part = Memo(), Counter(), ["part"]
    memo.recall("key", (part,), build)
    assert memo.recall("key", (part,), build, valid=lambda value: value > 1) == 2
    assert memo.recall("key", (part,), build, valid=lambda value: value > 1) == 2


def test_keys_do_not_disturb() -> None:
    """Keys do not disturb each other."""
    memo, part = Memo(), ["part"]
    assert memo.recall("one", (part,), lambda: 1) == 1
    assert memo.recall("two", (part,), lambda: 2) == 2
    assert memo.recall("one", (part,), lambda: 3) == 1


def test_a_stable_value_stays() -> None:
    """A stable value stays the same object while it is equal."""
    memo = Memo()
    first = memo.stable("key", frozenset({"a"}))
    assert memo.stable("key", frozenset({"a"})) is first
    assert memo.stable("key", frozenset({"b"})) == {"b"}


def test_beyond_its_bound_a_memo() -> None:
    """Beyond its bound a memo forgets and still answers."""
    memo, part = Memo(), ["part"]
    for number in range(20_000):
        assert memo.recall(number, (part,), lambda number=number: number) == number  # type: ignore[misc] # a lambda with a default
    assert len(memo._kept) <= 16_384
