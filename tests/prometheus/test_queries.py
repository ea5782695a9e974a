"""The named queries as text, and what they answer at the edges of their windows."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.policy import CustomProfile, CustomSignal, Profile, PrometheusSettings
from scaler.core.profile import metric_profile
from scaler.core.usage import QueryKey, UsageKey
from scaler.prometheus.queries import FleetQuery, bind, fleet_queries
from scaler.sim.promql import Engine, evaluate
from scaler.sim.promql.parser import parse
from scaler.sim.promql.syntax import Binary, Call, Node, Text
from scaler.sim.samples import SampleStore
from tests.prometheus.fleet import GPU_UTIL, KEY, NOW, WINDOW, pod_labels, scrape

CUSTOM = CustomProfile(
    signals=(CustomSignal(name="active", metric="fleet:active:ratio", maximum=1.0),),
    device_label="serial",
    resources=("example.com/accelerator",),
)
ALL_PROFILES = [
    PrometheusSettings(profile=profile, custom=CUSTOM if profile is Profile.CUSTOM else None)
    for profile in Profile
]


def queries_of(
    settings: PrometheusSettings, *, key: UsageKey = KEY, at: float = NOW
) -> dict[FleetQuery, str]:
    """Build a key's queries as a refresh would."""
    return dict(fleet_queries(settings=settings, key=key, look_back=3600.0, max_age=90.0, at=at))


@pytest.mark.parametrize("settings", ALL_PROFILES, ids=lambda settings: settings.profile)
def test_every_named_query_of_every_profile_is_promql(settings: PrometheusSettings) -> None:
    """Every named query of every profile is promql."""
    for expression in queries_of(settings).values():
        parse(expression)


def test_a_query_without_a_metric_is_left_out() -> None:
    """A query without a metric is left out."""
    custom = PrometheusSettings(profile=Profile.CUSTOM, custom=CUSTOM)
    assert FleetQuery.POWER not in queries_of(custom)
    assert FleetQuery.MOVED not in queries_of(custom)
    assert queries_of(PrometheusSettings(profile=Profile.CUSTOM)) == {}


@pytest.mark.parametrize("selector", ['job="dcgm",cluster=~"a|b"', '{job="dcgm",cluster=~"a|b"}'])
@pytest.mark.parametrize("profile", [Profile.DCGM_4_8, Profile.DCGM_4_9, Profile.GAUDI])
def test_the_policys_matchers_are_in_every_selector(profile: Profile, selector: str) -> None:
    """The policys matchers are in every selector."""
    settings = PrometheusSettings(profile=profile, selector=selector)
    names = [signal.metric for signal in metric_profile(settings).signals]
    for expression in queries_of(settings).values():
        bare = re.findall(r"(?:DCGM_FI|habanalabs)_\w+(?!\w)(?!\{job=)", expression)
        assert bare == []
    assert names[0] + '{job="dcgm",cluster=~"a|b"}' in queries_of(settings)[FleetQuery.PEAK]


@pytest.mark.parametrize("profile", [Profile.DCGM_4_8, Profile.DCGM_4_9])
def test_d06_nothing_groups_by_the_label_that_was_renamed(profile: Profile) -> None:
    """D06: neither Hostname nor hostname is in any DCGM query."""
    text = " ".join(queries_of(PrometheusSettings(profile=profile)).values())
    assert "hostname" not in text.lower()


def test_signals_that_cannot_vouch_are_not_counted() -> None:
    """Signals that cannot vouch are not counted."""
    expressions = queries_of(PrometheusSettings())
    assert "DCGM_FI_DEV_ENC_UTIL" in expressions[FleetQuery.PEAK]
    assert "DCGM_FI_DEV_ENC_UTIL" not in expressions[FleetQuery.SAMPLES]
    assert "DCGM_FI_DEV_ENC_UTIL" not in expressions[FleetQuery.SERIES]


def test_thresholds_are_in_the_metrics_own_scale() -> None:
    """Thresholds are in the metrics own scale."""
    key = UsageKey(window_seconds=600.0, busy_from_percent=5.0)
    expression = queries_of(PrometheusSettings(), key=key)[FleetQuery.LAST_BUSY]
    assert "(DCGM_FI_PROF_GR_ENGINE_ACTIVE >= 0.05) <= 1" in expression
    assert "(DCGM_FI_DEV_GPU_UTIL >= 5) <= 100" in expression


def test_last_busy_reaches_beyond_the_window_by_the_brakes_time_and_two_scrapes() -> None:
    """Last busy reaches beyond the window by the brakes time and two scrapes."""
    expression = queries_of(PrometheusSettings())[FleetQuery.LAST_BUSY]
    assert f"[{(1800 + 3600 + 60) * 1000 - 1}ms:15000ms]" in expression


@pytest.mark.parametrize("engine", [Engine(), Engine(closed_ranges=True)], ids=["3", "2"])
@pytest.mark.parametrize(("age", "seen"), [(WINDOW - 30, True), (WINDOW, False)])
def test_a_sample_exactly_one_window_old_is_outside_in_either_version(
    engine: Engine,
    age: float,
    seen: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    """A sample exactly one window old is outside in either version."""
    store = SampleStore()
    scrape(store, GPU_UTIL, 0.0, labels=pod_labels("p"), until=-age - 30)
    store.append(GPU_UTIL, pod_labels("p"), at=NOW - age, value=77.0)
    scrape(store, GPU_UTIL, 0.0, labels=pod_labels("p"), since=-age + 30)
    peak = queries_of(PrometheusSettings())[FleetQuery.PEAK]
    answer = evaluate(store, peak, NOW, engine=engine)
    assert isinstance(answer, list)
    assert [value for _, value in answer] == [77.0 if seen else 0.0]


# --- binding -----------------------------------------------------------------------------------


def test_the_newest_sample_is_looked_for_no_further_back_than_the_server_does() -> None:
    """However old a sample may be: 150 s and an hour ask the same."""
    asked = {
        fleet_queries(
            settings=PrometheusSettings(), key=KEY, look_back=3600.0, max_age=max_age, at=NOW
        )[FleetQuery.LATEST]
        for max_age in (150.0, 3600.0)
    }
    assert len(asked) == 1


def test_a_template_gets_its_namespace_and_workload_wherever_they_stand() -> None:
    """A template gets its namespace and workload wherever they stand."""
    template = 'sum(q{ns="$namespace"}) + sum(r{ns="${namespace}", w=~"$workload-.*"})'
    bound = bind(template=template, key=QueryKey(name="q", namespace="ml", workload="w"))
    assert bound == 'sum(q{ns="ml"}) + sum(r{ns="ml", w=~"w-.*"})'


def test_binding_leaves_other_dollars_alone_and_is_done_once() -> None:
    """Binding leaves other dollars alone and is done once."""
    key = QueryKey(name="q", namespace="$workload", workload="w")
    template = 'label_replace(up{ns="$namespace"}, "a", "$1", "b", "(.*)$")'
    bound = bind(template=template, key=key)
    assert bound == 'label_replace(up{ns="$workload"}, "a", "$1", "b", "(.*)$")'


@given(
    name=st.text(
        alphabet=st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="`")
    )
)
def test_no_name_can_leave_its_string(name: str) -> None:
    """No name can leave its string."""
    key = QueryKey(name="q", namespace=name, workload="w")
    found = strings(parse(bind(template='label_replace(up, "a", "$namespace", "", "")', key=key)))
    assert found == ["a", name, "", ""]


def strings(node: Node) -> list[str]:
    """Give the string arguments of a call."""
    assert isinstance(node, Call | Binary)
    arguments = node.arguments if isinstance(node, Call) else ()
    return [argument.value for argument in arguments if isinstance(argument, Text)]
