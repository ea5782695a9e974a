"""A scenario that restarts what others need says so: else it is others that fail, and seldom."""

import ast
import inspect
import sys
from collections.abc import Callable

from tests.e2e.scenarios import SCENARIOS
from tests.e2e.world import DISTURBS_KEDA, Scenario, World

FOR_ALL = ("with_settings(", "with_build(", "stack.apiserver")
"""Words of code that restarts a program under everybody's hands."""
FOR_KEDA = ("programs.stop(stack.keda", "programs.stop(keda")
"""Of code that restarts the one that some do without."""


def code_of(play: Callable[[World], str]) -> str:
    """Give the source of a function and of all in its module that it leads to."""
    module = sys.modules[play.__module__]
    own = {
        each.name: each
        for each in ast.parse(inspect.getsource(module)).body
        if isinstance(each, ast.FunctionDef)
    }
    wanted, found = [play.__name__], dict[str, str]()
    while wanted:
        name = wanted.pop()
        if name in own and name not in found:
            found[name] = ast.unparse(own[name])
            wanted += [each.id for each in ast.walk(own[name]) if isinstance(each, ast.Name)]
    return "\n".join(found.values())


def scenarios_with(words: tuple[str, ...]) -> list[Scenario]:
    """Give those whose code has one of these words."""
    return [each for each in SCENARIOS if any(word in code_of(each.play) for word in words)]


def test_what_restarts_a_program_of_all_is_played_alone() -> None:
    """Kueue with a clock for ready pods evicted what another scenario held beside it."""
    found = scenarios_with(FOR_ALL)
    assert {each.id for each in found} >= {"H6", "H13", "F5"}
    assert [each.id for each in found if not each.alone] == []


def test_what_restarts_keda_is_played_beside_what_does_without_it() -> None:
    """Or alone; only KEDA's own scenarios know when it is away."""
    found = scenarios_with(FOR_KEDA)
    assert {each.id for each in found} >= {"C34", "F10", "H10k"}
    assert [each.id for each in found if not (each.alone or each.later == DISTURBS_KEDA)] == []


def test_each_scenario_s_code_is_found() -> None:
    """Else nothing would be looked at."""
    assert [each.id for each in SCENARIOS if not code_of(each.play)] == []
