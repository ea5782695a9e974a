"""A policy's size is bounded, and so is what is said of a bad one."""

import os
from pathlib import Path

from scaler.core.policy import Policy
from scaler.policyfile import PolicyFile, parse_policy
from scaler.policyfile.parse import MAX_PROBLEMS
from scaler.policyfile.rules import MAX_POOLS

POOL = "{{nodeSelector: {{pool: {label}}}, node: {{nvidia.com/gpu: 8}}, maxNodes: 3}}"


def pools(count: int, *, alike: bool = False) -> str:
    """Write so many pools, each with a label of its own or all with one."""
    labels = ["same" if alike else f"p{number}" for number in range(count)]
    lines = (f"  p{number}: {POOL.format(label=label)}" for number, label in enumerate(labels))
    return "\n".join(("pools:", *lines))


def test_there_may_be_many_pools_but_not_any_number() -> None:
    """All pairs of forty thousand would keep every decision waiting for minutes."""
    assert isinstance(parse_policy(pools(20)), Policy)
    found = parse_policy(pools(MAX_POOLS + 1))
    assert isinstance(found, tuple)
    assert [str(problem.path) for problem in found] == ["pools"]


def test_a_pool_that_overlaps_many_is_one_problem() -> None:
    """Thirty pools with one selector are twenty-nine mistakes, not four hundred."""
    found = parse_policy(pools(30, alike=True))
    assert isinstance(found, tuple)
    assert len(found) == 29


def test_thousands_of_problems_are_counted() -> None:
    """They stand in each log line and page that speaks of the policy."""
    found = parse_policy("\n".join(f"unknown{number}: 1" for number in range(MAX_PROBLEMS + 7)))
    assert isinstance(found, tuple)
    assert len(found) == MAX_PROBLEMS + 1
    assert "7 more" in str(found[-1])


def test_a_pipe_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    """Opening it would wait for a writer for ever, and with it every decision."""
    path = tmp_path / "policy.yaml"
    path.write_text("{}")
    file = PolicyFile(path)
    file.poll()
    path.unlink()
    os.mkfifo(path)
    state = file.poll()
    assert state is not None
    assert "regular file" in str(state.problems[0])


def test_ages_that_a_healthy_source_exceeds_are_refused() -> None:
    """With them every decision would be a HOLD for ever, and nobody would know why."""
    found = parse_policy(
        "prometheus: {scrapeInterval: 30s, refresh: 15s}\n"
        "safety: {maxSampleAge: 44s, maxWatchAge: 89s}\n"
    )
    assert isinstance(found, tuple)
    assert [(str(each.path), each.value) for each in found] == [
        ("safety.maxSampleAge", "44s"),
        ("safety.maxWatchAge", "1m29s"),
    ]
    assert "45s or more: prometheus.scrapeInterval and refresh" in found[0].allowed
    assert "1m30s or more: a watch" in found[1].allowed


def test_ages_may_be_as_short_as_the_rhythm() -> None:
    """The bounds themselves are allowed."""
    text = (
        "prometheus: {scrapeInterval: 1s, refresh: 1s}\n"
        "safety: {maxSampleAge: 2s, maxWatchAge: 90s}\n"
    )
    assert isinstance(parse_policy(text), Policy)
