"""What people read on the pages, and that nothing from the cluster becomes markup."""

import re
from dataclasses import replace

import pytest

from scaler.core.hold.words import State as Stand
from scaler.core.model import WorkerScale, WorkerScaleStatus
from scaler.core.policy import Policy, Pool, PrometheusSettings, Thresholds
from scaler.core.reasons import CLASS_WORDS, Reason, WorkloadClass
from scaler.core.trigger import TriggerRef
from scaler.prometheus.series import Matrix, RawSeries
from scaler.prometheus.session import UnreachableError
from scaler.status.page.workers import _TONES
from tests.builders import NOW, make_hold, make_worker_scale
from tests.status.page.stage import (
    FakePrometheus,
    Stage,
    idle_decision,
    pool_evidence,
    queue_decision,
    stage,
)
from tests.status.page.test_markup import HOSTILE, Reader

PAGES = ("", "holds", "pools", "workers", "policy", "trigger?namespace=team-chat&name=llm")


def text(page: str) -> str:
    """Give what a person reads, in one line."""
    return " ".join(Reader(page).text.split())


def body(at: Stage, path: str = "") -> str:
    """Give a page that is there."""
    status, headers, page = at.get(path)
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    return page


def heard(at: Stage, path: str) -> str:
    """Give a page once Prometheus was heard."""
    for _ in range(2000):
        at.server._pages._kept.clear()
        page = body(at, path)
        if "is being asked" not in page:
            return page
    raise AssertionError("Prometheus was never heard")


def held_scale() -> WorkerScale:
    """Build a WorkerScale whose workers are away for an hour."""
    hold = replace(make_hold(workload_uid="u1"), since=NOW - 3600)
    status = WorkerScaleStatus(
        size=2, state=Stand.HELD, reason="Idle", message="idle for 46m", hold=hold
    )
    return replace(make_worker_scale(), status=status)


def test_a_trigger_is_shown_with_value_reason_and_why() -> None:
    """A trigger is shown with value reason and why."""
    with stage() as at:
        at.publish(queue_decision(value=3))
        page = text(body(at))
    assert "Demand" in page
    assert "gpu-nodes/a100-pool" in page
    assert "3 of 1" in page
    assert "2 more nodes are needed" in page


def test_an_unknown_is_shown_as_unknown_and_has_no_number() -> None:
    """An unknown is shown as unknown and has no number."""
    with stage() as at:
        at.publish(queue_decision(value=None, reason=Reason.NOT_SYNCED, detail="403 on list"))
        page = body(at)
    assert "UNKNOWN: NotSynced" in text(page)
    assert 'fill="url(#hatch-unknown)"' in page
    (value,) = re.findall(r'<span class="number none">(.*?)</span>', page)
    assert Reader(value).text == "? of 1"


def test_a_chart_has_a_gap_where_there_was_no_value() -> None:
    """P01: neither the line nor the column goes to 0 there."""
    with stage() as at:
        at.publish(queue_decision(value=4, at=NOW - 1800), at=NOW - 1800)
        hold = queue_decision(value=None, reason=Reason.NOT_SYNCED, at=NOW - 900)
        at.publish(hold, at=NOW - 900)
        at.publish(hold, changed=[])
        page = body(at, "trigger?namespace=gpu-nodes&name=a100-pool&span=1h")
    (chart,) = re.findall(r'<svg class="chart".*?</svg>', page, re.DOTALL)
    assert "UNKNOWN: NotSynced, no value" in Reader(chart).text
    assert "hatch-unknown" in chart
    lines = re.findall(r'<line x1="([0-9.]+)%" x2="([0-9.]+)%"[^>]*class="value"', chart)
    assert [(round(float(a)), round(float(b))) for a, b in lines] == [(50, 75)]


def test_every_page_says_how_many_are_held() -> None:
    """Every page says how many are held."""
    scale = held_scale()
    with stage() as at:
        held = idle_decision(held=True, reason=Reason.NO_SAMPLES)
        at.publish(held, worker_scales={scale.key: scale})
        for path in PAGES:
            assert "Holds2" in text(body(at, path)).replace(" ", "")


def test_a_search_finds_by_all_words() -> None:
    """A search finds by all words."""
    with stage() as at:
        at.publish(idle_decision("llm"), idle_decision("asr", reason=Reason.IDLE), queue_decision())
        page = text(body(at, "?q=team-chat+idle-asr"))
        assert "team-chat/asr" in page
        assert "team-chat/llm" not in page
        assert "No trigger fits this search" in text(body(at, "?q=nothing-like-it"))


def test_a_reason_filters_and_its_chip_says_how_many() -> None:
    """A reason filters and its chip says how many."""
    with stage() as at:
        at.publish(idle_decision("llm"), idle_decision("asr", reason=Reason.IDLE))
        page = text(body(at, "?reason=Idle&state=OK"))
    assert "team-chat/asr" in page
    assert "team-chat/llm" not in page
    assert "Busy1" in page.replace(" ", "")


def test_what_needs_a_look_comes_first() -> None:
    """What needs a look comes first."""
    with stage() as at:
        held = idle_decision("zzz", held=True, reason=Reason.NO_SAMPLES)
        at.publish(idle_decision("aaa"), held)
        page = text(body(at))
    assert page.index("team-chat/zzz") < page.index("team-chat/aaa")


def test_many_triggers_come_in_pages() -> None:
    """Many triggers come in pages."""
    with stage() as at:
        at.publish(*(idle_decision(f"llm-{number:04}") for number in range(120)))
        first, last = text(body(at)), text(body(at, "?offset=100"))
    assert "1 to 50 of 120 triggers" in first
    assert "team-chat/llm-0050" not in first
    assert "101 to 120 of 120 triggers" in last
    assert "team-chat/llm-0119" in last


def test_a_triggers_page_has_its_settings_with_the_rule_behind_each() -> None:
    """A triggers page has its settings with the rule behind each."""
    with stage() as at:
        at.publish(idle_decision())
        page = text(body(at, "trigger?namespace=team-chat&name=llm"))
    assert "busyFromPercent5kinds.Deployment" in page.replace(" ", "")
    assert "idleAfter30mdefaults" in page.replace(" ", "")
    assert "IsActive true, GetMetrics 1" in page


def test_a_trigger_s_page_shows_no_value_that_may_be_a_key() -> None:
    """KEDA passes on what a trigger has; the key is named, so that it can be taken out."""
    decision = idle_decision()
    metadata = {"signal": "idle", "idleAfter": "30m", "tlsClientKey": "MIIEsesame"}
    ref = TriggerRef.of(namespace=decision.namespace, name=decision.name, metadata=metadata)
    with stage() as at:
        latest = at.store.latest()
        at.store.publish(
            snapshot=latest.snapshot,
            policy=latest.policy,
            decisions={ref: decision},
            changed=frozenset({ref}),
        )
        page = body(at, f"trigger?namespace={decision.namespace}&name={decision.name}")
    assert "tlsClientKeynot shown" in text(page)
    assert "30m" in text(page)
    assert "sesame" not in page


def test_a_trigger_that_is_not_there_says_so() -> None:
    """A trigger that is not there says so."""
    with stage() as at:
        at.publish(idle_decision())
        assert "There is no trigger team-chat/gone" in text(
            body(at, "trigger?namespace=team-chat&name=gone")
        )


def test_activity_is_drawn_with_window_and_threshold_and_gaps() -> None:
    """Activity is drawn with window and threshold and gaps."""
    points = tuple((round((NOW - 1800 + n * 30) * 1000), 50.0) for n in range(30))
    row = Matrix(series=(RawSeries(labels={"UUID": "GPU-0"}, points=points),))
    with stage(prometheus=FakePrometheus(answers={"DCGM": row})) as at:
        at.publish(idle_decision())
        page = heard(at, "trigger?namespace=team-chat&name=llm&span=1h")
    charts = re.findall(r'<svg class="chart".*?</svg>', page, re.DOTALL)
    activity = charts[1]
    assert 'class="window"' in activity
    assert 'class="threshold"' in activity
    assert activity.count('class="t-busy"') >= 29
    assert "no samples" in activity
    assert 'aria-label="GPU-0: peak 50.0 %"' in page


def test_a_prometheus_that_fails_is_told_and_the_page_is_there() -> None:
    """A prometheus that fails is told and the page is there."""
    failing = FakePrometheus(problem=UnreachableError("connection refused"))
    with stage(prometheus=failing) as at:
        at.publish(idle_decision())
        page = text(heard(at, "trigger?namespace=team-chat&name=llm"))
    assert "Prometheus: connection refused" in page
    assert "from this process alone" in page


def test_a_pool_shows_what_is_wanted_there_and_capped() -> None:
    """A pool shows what is wanted there and capped."""
    with stage() as at:
        capped = pool_evidence(new=8, capped=True)
        at.publish(queue_decision(value=10, reason=Reason.CAPPED, pool=capped))
        page = body(at, "pools")
    assert "10 wanted" in text(page)
    assert "capped" in text(page)
    label = "10 wanted, 2 there: 1 usable, 1 coming, 0 broken; 8 new; at most 10"
    assert f'aria-label="{label}"' in page
    assert "No trigger sizes this pool" in text(page), "of the other one"


def test_a_pool_of_a_hold_has_no_wanted_number() -> None:
    """A pool of a hold has no wanted number."""
    with stage() as at:
        at.publish(queue_decision(value=None, reason=Reason.SIZE_UNKNOWN))
        page = body(at, "pools")
    assert "UNKNOWN wanted" in text(page)
    assert 'class="wanted"' not in page


def test_holds_of_both_sorts_are_there_with_their_age() -> None:
    """Holds of both sorts are there with their age."""
    with stage() as at:
        at.publish(idle_decision(at=NOW - 300), at=NOW - 300)
        held = idle_decision(at=NOW - 240, held=True, reason=Reason.NO_SAMPLES)
        at.publish(held, at=NOW - 240)
        scale = held_scale()
        at.publish(held, changed=[], worker_scales={scale.key: scale})
        page = body(at, "holds")
    assert "GetMetrics without a value: the size stays" in text(page)
    ages = [value for name, value in Reader(page).attributes if name == "data-age"]
    assert str(round(NOW - 240)) in ages
    assert str(round(NOW - 3600)) in ages
    assert "2 pods of gpu" in text(page)


def test_worker_scales_can_be_searched_and_filtered() -> None:
    """Worker scales can be searched and filtered."""
    scales = [replace(make_worker_scale(name=name), status=held_scale().status) for name in "ab"]
    running = replace(make_worker_scale(name="c"), status=WorkerScaleStatus(state=Stand.RUNNING))
    with stage() as at:
        at.publish(worker_scales={one.key: one for one in (*scales, running)})
        assert "Held2" in text(body(at, "workers")).replace(" ", "")
        only = text(body(at, "workers?state=Running"))
        assert "ml/c" in only
        assert "ml/a" not in only
        assert "ml/b" in text(body(at, "workers?q=ml/b"))


def test_every_state_of_a_worker_scale_has_a_tone() -> None:
    """Every state of a worker scale has a tone."""
    assert set(_TONES) == set(Stand)


def test_the_policy_shows_rules_and_keeps_secrets() -> None:
    """The policy shows rules and keeps secrets."""
    policy = Policy(
        defaults=Thresholds(idle_after=1800.0),
        kinds={"Deployment": Thresholds(busy_from_percent=5.0)},
        pools={"a": Pool(name="a", node_selector=(("pool", "a"),), node=(), max_nodes=1)},
        prometheus=PrometheusSettings(
            url="https://user:hunter2@prometheus:9090/x", headers={"X-Scope": "hunter3"}
        ),
    )
    with stage(policy=policy) as at:
        at.publish(idle_decision())
        page = body(at, "policy")
    assert "kinds.Deployment" in text(page)
    assert "https://prometheus:9090/x" in text(page)
    assert "X-Scope" in text(page)
    assert "hunter" not in page


def test_what_is_wrong_with_sources_is_on_every_page() -> None:
    """What is wrong with sources is on every page."""
    with stage() as at:
        at.publish(sources={})
        for path in PAGES:
            assert "workloads: not started" in text(body(at, path))


def test_classes_have_the_words_that_explain_uses() -> None:
    """Classes have the words that explain uses."""
    with stage() as at:
        at.publish(queue_decision())
        page = text(body(at, "trigger?namespace=gpu-nodes&name=a100-pool"))
    assert f"A: {CLASS_WORDS[WorkloadClass.UNPLACED]}" in page


@pytest.mark.parametrize("path", [*PAGES, "trigger?namespace=x&name=y", "?q=<script>"])
def test_hostile_names_and_messages_stay_text(path: str) -> None:
    """Hostile names and messages stay text."""
    name = HOSTILE.replace("/", "")
    hostile = replace(
        idle_decision(name, namespace=HOSTILE, detail=HOSTILE), metric=HOSTILE, problems=(HOSTILE,)
    )
    scale = replace(
        held_scale(), name=name, status=replace(held_scale().status, message=HOSTILE, state=HOSTILE)
    )
    with stage() as at:
        at.publish(
            hostile,
            idle_decision(detail=HOSTILE),
            queue_decision(pool=pool_evidence(HOSTILE)),
            worker_scales={scale.key: scale},
        )
        page = body(at, path)
    read = Reader(page)
    assert read.tags.count("script") == 1, "our own"
    assert not [attribute for attribute, _ in read.attributes if attribute.startswith("on")]
    assert not [attribute for attribute, _ in read.attributes if attribute == "style"]


def test_a_page_can_be_had_under_a_prefix() -> None:
    """All addresses are relative: a proxy may put the port behind a path."""
    with stage() as at:
        at.publish(idle_decision(), queue_decision())
        for path in PAGES:
            addresses = [
                value
                for name, value in Reader(body(at, path)).attributes
                if name in ("href", "src", "action") and value
            ]
            assert addresses
            assert not [one for one in addresses if one.startswith("/") or "://" in one]


def test_a_trigger_that_no_scaled_object_has_any_more_is_marked() -> None:
    """A trigger that no scaled object has any more is marked."""
    with stage() as at:
        at.publish(idle_decision(), scaled_objects={})
        assert "no ScaledObject has it any more" in text(body(at))
