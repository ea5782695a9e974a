"""The policy in force: its rules, and for each trigger the values with the rule behind each."""

from collections import Counter
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from scaler.core.decision import Decision, EffectiveValue
from scaler.core.policy import DEFAULT_THRESHOLDS, Policy, PrometheusSettings, Safety, Thresholds
from scaler.core.quantity import format_duration, several
from scaler.core.schedule import active_schedules
from scaler.core.trigger import TriggerRef
from scaler.status.page.clockwork import moment_words
from scaler.status.page.look import Look
from scaler.status.page.markup import Child, Markup, el
from scaler.status.page.parts import facts, pager, row, search, section, table
from scaler.status.page.rows import link
from scaler.status.page.view import ROWS

_KEYS = ("idleAfter", "busyFromPercent", "graceAfterStart", "dryRun", "keepAlive", "wake")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def policy(look: Look) -> Iterator[Markup | None]:
    """Build the page's body."""
    state, given = look.state.policy, look.state.policy.policy
    for problem in state.problems:
        yield el("p", f"Refused, the last good one stays: {problem}", class_="problem")
    loaded = moment_words(state.loaded_at) if state.loaded_at else "at the start"
    yield facts(
        (("in force since", loaded), ("reloads", "yes" if state.hot else "not while running"))
    )
    yield _rules(look, given)
    yield _effective(look)
    yield section("Safety", facts(_safety(given.safety)))
    yield section("Prometheus", facts(_prometheus(given.prometheus)))
    yield from _queries(look, given)


def _rules(look: Look, given: Policy) -> Markup:
    decides = Counter(
        rule
        for decision in look.state.decisions.values()
        for rule in {_rule(one) for one in decision.effective}
    )
    rows = [
        row(el("code", name), *_cells(values), several(decides[name], "trigger"))
        for name, values in _levels(given)
    ]
    heads = ("rule", *_KEYS, "gives a value to")
    return section(
        "Rules, the strongest first",
        table(heads, rows, label="rules of the policy"),
        note="a trigger's own metadata is stronger than all of them",
    )


def _levels(given: Policy) -> Iterator[tuple[str, Thresholds]]:
    sections: tuple[tuple[str, Mapping[str, Thresholds]], ...] = (
        ("namespaces", given.namespaces),
        ("clusterQueues", given.cluster_queues),
        ("kinds", given.kinds),
    )
    for name, rules in sections:
        yield from ((f"{name}.{key}", values) for key, values in sorted(rules.items()))
    if given.defaults is not DEFAULT_THRESHOLDS:
        yield "defaults", given.defaults
    yield "built-in", DEFAULT_THRESHOLDS


def _cells(values: Thresholds) -> Iterator[Child]:
    yield _duration(values.idle_after)
    yield None if values.busy_from_percent is None else f"{values.busy_from_percent:g}"
    yield _duration(values.grace_after_start)
    yield None if values.dry_run is None else str(values.dry_run).lower()
    yield values.keep_alive
    yield values.wake


def _effective(look: Look) -> Markup:
    found = [one for one in look.state.decisions.items() if one[1].effective and _fits(one, look)]
    found.sort(key=lambda one: (one[1].key, one[1].metric))
    shown = found[look.view.offset : look.view.offset + ROWS]
    rows = [_trigger(look, ref, decision) for ref, decision in shown]
    empty = el("p", "No idle trigger fits.", class_="empty")
    return section(
        "Values in force",
        el("div", search(look.view, hint="Search by trigger, value, rule"), class_="bar"),
        table(("trigger", *_KEYS), rows, label="values in force") if rows else empty,
        pager(look.view, len(found), of="triggers"),
        note="for each idle trigger, with the rule that gave each value",
    )


def _trigger(look: Look, ref: TriggerRef, decision: Decision) -> Markup:
    values = {one.key: one for one in decision.effective}
    cells = [_value(values.get(key)) for key in _KEYS]
    name = f"{decision.namespace}/{decision.name}"
    return row(el("a", name, href=link(ref, look.view)), *cells, key=f"{name} {decision.metric}")


def _value(one: EffectiveValue | None) -> Markup | None:
    return None if one is None else el("span", el("b", one.value), el("small", one.rule))


def _fits(one: tuple[TriggerRef, Decision], look: Look) -> bool:
    _, decision = one
    if not look.view.words:
        return True
    told = (f"{value.key} {value.value} {value.rule}" for value in decision.effective)
    text = " ".join((f"{decision.namespace}/{decision.name}", *told)).lower()
    return all(word in text for word in look.view.words)


def _rule(one: EffectiveValue) -> str:
    """Give the rule's name without what was done to its value."""
    return one.rule.partition(" ")[0]


def _safety(safety: Safety) -> Iterator[tuple[str, Child]]:
    mass = safety.mass_idle
    yield "minCoveragePercent", f"{safety.min_coverage_percent:g}"
    yield "maxSampleAge", format_duration(safety.max_sample_age)
    yield "maxWatchAge", format_duration(safety.max_watch_age)
    yield (
        "massIdle",
        (
            f"{several(mass.workloads, 'workload')} and {mass.percent:g} %, for "
            f"{format_duration(mass.hold_for)}"
        ),
    )
    yield (
        "powerVetoWatts",
        ", ".join(f"{m} {w:g}" for m, w in safety.power_veto_watts.items()) or "none",
    )
    yield "idleAfterMin", format_duration(safety.idle_after_min)
    yield "idleAfterMax", format_duration(safety.idle_after_max)
    yield "triggerQueries", str(safety.trigger_queries).lower()


def _prometheus(settings: PrometheusSettings) -> Iterator[tuple[str, Child]]:
    """Show how it is asked; what may be a secret (headers, a password in the URL) is left out."""
    yield "url", _without_user(settings.url)
    yield "profile", settings.profile
    yield "timeout", format_duration(settings.timeout)
    yield "refresh", format_duration(settings.refresh)
    yield "scrapeInterval", format_duration(settings.scrape_interval)
    if settings.headers:
        yield "headers", ", ".join(sorted(settings.headers))
    if settings.selector:
        yield "selector", el("code", settings.selector)


def _queries(look: Look, given: Policy) -> Iterator[Markup]:
    if given.queries:
        rows = [row(el("code", name), el("code", text)) for name, text in given.queries.items()]
        yield section("Queries", table(("name", "PromQL"), rows, label="queries"))
    if given.schedules:
        on = {one.name for one in active_schedules(given, look.now)}
        rows = [
            row(
                one.name,
                " ".join(_DAYS[day] for day in sorted(one.days)),
                f"{_minute(one.from_minute)} to {_minute(one.to_minute)} {one.timezone}",
                ", ".join(f"{pool} {nodes}" for pool, nodes in one.spare_nodes.items()),
                ", ".join(sorted(one.keep_active)),
                "on" if one.name in on else "off",
            )
            for one in given.schedules
        ]
        heads = ("schedule", "days", "time", "spare nodes", "keeps active", "now")
        yield section("Schedules", table(heads, rows, label="schedules"))
    kinds = ", ".join(sorted(given.worker_scales.kinds)) or "none"
    yield section("WorkerScales", facts((("kinds", kinds),)))


def _without_user(url: str) -> str:
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "not shown"
    return f"{parts.scheme}://{host}{parts.path}"


def _duration(seconds: float | None) -> str | None:
    return None if seconds is None else format_duration(seconds)


def _minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
