"""A policy's text gives a Policy, or every problem of it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.core.policy import (
    CustomProfile,
    CustomSignal,
    MassIdle,
    Policy,
    Pool,
    Prices,
    Profile,
    Safety,
    Schedule,
    Thresholds,
    WorkerKind,
)
from scaler.policyfile import parse_policy
from scaler.policyfile.fields import POLICY

POOL = "{nodeSelector: {pool: a}, node: {nvidia.com/gpu: 8}, maxNodes: 3}"
EXAMPLE = Path(__file__).parents[2] / "deploy" / "base" / "policy.yaml"


def parsed(text: str) -> Policy:
    """Parse a text without problems."""
    policy = parse_policy(text)
    assert isinstance(policy, Policy), policy
    return policy


def problems(text: str) -> dict[str, str]:
    """Give what is allowed, by the path of each problem."""
    found = parse_policy(text)
    assert isinstance(found, tuple)
    return {problem.path: problem.allowed for problem in found}


def test_empty_mapping_is_the_built_in_policy() -> None:
    """`{}` asks for what is built in, and so do sections without content."""
    assert parsed("{}") == Policy()
    assert parsed("pools:\nkinds: {}\nsafety:") == Policy()


@pytest.mark.parametrize("text", ["", "\n", "# all gone", "---", "null", "--- \n---\n{}"])
def test_empty_file(text: str) -> None:
    """A10: a file without content is bad, it does not stand for what is built in."""
    assert list(problems(text)) == ["(document)"]


def test_thresholds_at_every_level() -> None:
    """Each level takes all six thresholds, and says None where it is silent."""
    level = (
        "{idleAfter: 1h30m, busyFromPercent: 2.5, graceAfterStart: 0s, dryRun: true, "
        "keepAlive: q, wake: q}"
    )
    policy = parsed(
        f"queries: {{q: up}}\ndefaults: {level}\nkinds: {{JobSet: {level}}}\n"
        f"clusterQueues: {{research: {level}}}\nnamespaces: {{team-a: {level}, b: {{}}}}"
    )
    want = Thresholds(
        idle_after=5400.0,
        busy_from_percent=2.5,
        grace_after_start=0.0,
        dry_run=True,
        keep_alive="q",
        wake="q",
    )
    assert policy.defaults == want
    assert policy.kinds == {"JobSet": want}
    assert policy.cluster_queues == {"research": want}
    assert policy.namespaces == {"team-a": want, "b": Thresholds()}


def test_pool() -> None:
    """A pool's node is read in quantities, its selector sorted, its times in seconds."""
    policy = parsed(
        "pools: {b: {nodeSelector: {pool: b, az: '1'}, node: {cpu: 1.5, memory: 2Gi, "
        "example.com/mig-1g: 7}, maxNodes: 3, spareNodes: 1, provisioningTimeout: 20m, "
        "notReadyGrace: 0s}, a: " + POOL + "}"
    )
    assert list(policy.pools) == ["b", "a"]
    assert policy.pools["b"] == Pool(
        name="b",
        node_selector=(("az", "1"), ("pool", "b")),
        node=(("cpu", 1500), ("example.com/mig-1g", 7), ("memory", 2 * 1024**3)),
        max_nodes=3,
        spare_nodes=1,
        provisioning_timeout=1200.0,
        not_ready_grace=0.0,
    )


def test_prometheus() -> None:
    """The section prometheus with a profile of one's own."""
    found = parsed(
        """
        prometheus:
          url: https://thanos.example:9091/prefix
          profile: custom
          timeout: 5s
          refresh: 20s
          scrapeInterval: 1m
          tokenFile: /var/run/token
          caFile: /etc/ca.crt
          headers: {X-Scope-OrgID: gpu}
          selector: job="exporter", cluster=~"a|b"
          custom:
            signals: [{name: busy, metric: npu_busy, maximum: 1}]
            deviceLabel: uuid
            resources: [example.com/npu-*]
            podLabels: [{namespace: ns, pod: pod_name}]
        """
    ).prometheus
    assert (found.url, found.profile) == ("https://thanos.example:9091/prefix", Profile.CUSTOM)
    assert (found.timeout, found.refresh, found.scrape_interval) == (5.0, 20.0, 60.0)
    assert (found.token_file, found.ca_file) == ("/var/run/token", "/etc/ca.crt")
    assert found.headers == {"X-Scope-OrgID": "gpu"}
    assert found.selector == 'job="exporter", cluster=~"a|b"'
    assert found.custom == CustomProfile(
        signals=(CustomSignal(name="busy", metric="npu_busy", maximum=1.0),),
        device_label="uuid",
        resources=("example.com/npu-*",),
        pod_labels=(("ns", "pod_name"),),
    )


def test_worker_scales() -> None:
    """The section workerScales: all kinds unless a list says which; an empty one says none."""
    for text in ("{}", "workerScales:", "workerScales: {}"):
        assert parsed(text).worker_scales.kinds == frozenset(WorkerKind)
    assert parsed("workerScales: {kinds: []}").worker_scales.kinds == frozenset()
    assert parsed("workerScales: {orphanAfter: 10m}").worker_scales.orphan_after == 600.0
    some = parsed("workerScales: {kinds: [RayJob, Notebook, RayJob]}").worker_scales
    assert some.kinds == {"RayJob", "Notebook"}


def test_a_kind_that_no_worker_scale_can_have() -> None:
    """What is no kind of ours is named by its place, with all that are allowed."""
    found = problems("workerScales: {kinds: [RayCluster, raycluster, Deployment], kind: Job}")
    assert set(found) == {
        "workerScales.kinds[1]",
        "workerScales.kinds[2]",
        "workerScales.kind",
    }
    assert "RayCluster, RayJob, JobSet, TrainJob, Job" in found["workerScales.kinds[2]"]
    assert "did you mean kinds?" in found["workerScales.kind"]
    assert "allowed is a list" in problems("workerScales: {kinds: RayJob}")["workerScales.kinds"]


def test_prices() -> None:
    """The section prices: of flavors, of models, and of any other GPU."""
    text = (
        "prices: {currency: EUR, gpuHour: 2, resourceFlavors: {a100: 2.8},"
        " models: {NVIDIA H100 80GB HBM3: 4.25}}"
    )
    assert parsed(text).prices == Prices(
        currency="EUR",
        gpu_hour=2.0,
        resource_flavors={"a100": 2.8},
        models={"NVIDIA H100 80GB HBM3": 4.25},
    )
    assert parsed("{}").prices == Prices()


def test_prices_that_say_nothing() -> None:
    """A price needs a currency; a negative one, or 0, is a mistake."""
    found = problems(
        "prices: {gpuHour: 0, resourceFlavors: {a100: -1, A100: 2}, models: {x: free}, gpu: 2}"
    )
    assert set(found) == {
        "prices.currency",
        "prices.gpuHour",
        "prices.resourceFlavors.a100",
        "prices.resourceFlavors.A100",
        "prices.models.x",
        "prices.gpu",
    }
    assert "allowed is a price above 0" in found["prices.gpuHour"]
    assert "did you mean gpuHour?" in found["prices.gpu"]
    assert "EUR" in problems("prices: {currency: '12 €'}")["prices.currency"]


def test_safety() -> None:
    """The section safety."""
    found = parsed(
        "safety: {minCoveragePercent: 80, maxSampleAge: 2m, maxWatchAge: 10m, massIdle: "
        "{workloads: 5, percent: 0, for: 30m}, powerVetoWatts: {NVIDIA H100: 150}, "
        "idleAfterMin: 1m, idleAfterMax: 2h, triggerQueries: true}"
    ).safety
    assert found == Safety(
        min_coverage_percent=80.0,
        max_sample_age=120.0,
        max_watch_age=600.0,
        mass_idle=MassIdle(workloads=5, percent=0.0, hold_for=1800.0),
        power_veto_watts={"NVIDIA H100": 150.0},
        idle_after_min=60.0,
        idle_after_max=7200.0,
        trigger_queries=True,
    )


def test_schedule() -> None:
    """Times of day need no quotes, 24:00 is the end of the day."""
    policy = parsed(
        f"pools: {{a: {POOL}}}\n"
        "schedules: {late: {days: [Sat, Sun], from: 20:30, to: 24:00, timezone: UTC, "
        "spareNodes: {a: 3}, keepActive: [team-a, team-b]}}"
    )
    assert policy.schedules == (
        Schedule(
            name="late",
            days=frozenset({5, 6}),
            from_minute=1230,
            to_minute=1440,
            timezone="UTC",
            spare_nodes={"a": 3},
            keep_active=frozenset({"team-a", "team-b"}),
        ),
    )


def test_setting_under_an_old_name() -> None:
    """C06: an unknown key is named with its path, next to valid ones."""
    found = problems('defaults: {idle_time: "5", idleAfter: 45m}\nkinds: {JobSet: {dryRun: no}}')
    assert set(found) == {"defaults.idle_time", "kinds.JobSet.dryRun"}
    assert found["defaults.idle_time"].startswith("the key is unknown; did you mean idleAfter?")


def test_ratio_for_a_percentage() -> None:
    """D13: 0.05 is a ratio by mistake; so is a coverage of 0.9."""
    found = problems("defaults: {busyFromPercent: 0.05}\nsafety: {minCoveragePercent: 0.9}")
    assert set(found) == {"defaults.busyFromPercent", "safety.minCoveragePercent"}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("defaults: {idleAfter: [", "line 1, column 24"),
        ("defaults: {idleAfter: abc}", "defaults.idleAfter"),
        ("defaults: {idleAfter: -5m}", "defaults.idleAfter"),
        ("defaults: {idleAfter: 0s}", "defaults.idleAfter"),
        ("defaults: {idleAfter: 1800}", "defaults.idleAfter"),
        ("defaults: {idleAfter: null}", "defaults.idleAfter"),
        ("defaults: {idleAfter: {a: 1}}", "defaults.idleAfter"),
        ("defaults: {dryRun: 'true'}", "defaults.dryRun"),
        ("defaults: {busyFromPercent: '5'}", "defaults.busyFromPercent"),
        ("defaults: {busyFromPercent: true}", "defaults.busyFromPercent"),
        ("defaults: []", "defaults"),
        ("defaults: {wake: q}", "defaults.wake"),
        ("kinds: {raycluster: {}}", "kinds.raycluster"),
        ("namespaces: {Team_A: {}}", "namespaces.Team_A"),
        ("clusterQueues: {a: {idleAfter: 48h}}", "clusterQueues.a.idleAfter"),
        ("kinds: {JobSet: {idleAfter: 1m}}", "kinds.JobSet.idleAfter"),
        ("safety: {idleAfterMin: 1h}", "defaults.idleAfter"),
        ("safety: {idleAfterMin: 2h, idleAfterMax: 1h}", "safety.idleAfterMin"),
        ("safety: {massIdle: {for: 0s}}", "safety.massIdle.for"),
        ("safety: {massIdle: {workloads: 0}}", "safety.massIdle.workloads"),
        ("safety: {powerVetoWatts: {A100: 0}}", "safety.powerVetoWatts.A100"),
        ("queries: {a: ''}", "queries.a"),
        ("queries: {a: 'up{namespace=\"$namspace\"}'}", "queries.a"),
        ("prometheus: {url: 'prometheus:9090'}", "prometheus.url"),
        ("prometheus: {url: 'http://x:port'}", "prometheus.url"),
        ("prometheus: {profile: dcgm}", "prometheus.profile"),
        ("prometheus: {profile: custom}", "prometheus.custom"),
        ("prometheus: {custom: {deviceLabel: a, resources: [x/y]}}", "prometheus.custom.signals"),
        ("prometheus: {tokenFile: token}", "prometheus.tokenFile"),
        ("prometheus: {selector: 'job=x'}", "prometheus.selector"),
        ("prometheus: {selector: 'up{a=\"b\"}'}", "prometheus.selector"),
        ("prometheus: {refresh: 0s}", "prometheus.refresh"),
        ("prometheus: {headers: {'a b': x}}", 'prometheus.headers["a b"]'),
        ("pools: {a: {node: {cpu: 1}, maxNodes: 1}}", "pools.a.nodeSelector"),
        ("pools: {a: {nodeSelector: {}, node: {cpu: 1}, maxNodes: 1}}", "pools.a.nodeSelector"),
        ("pools: {a: {nodeSelector: {x: y}, node: {}, maxNodes: 1}}", "pools.a.node"),
        ("pools: {a: {nodeSelector: {x: y}, node: {cpu: 0}, maxNodes: 1}}", "pools.a.node.cpu"),
        (
            "pools: {a: {nodeSelector: {x: 1}, node: {cpu: 1}, maxNodes: 1}}",
            "pools.a.nodeSelector.x",
        ),
        ("pools: {a: {nodeSelector: {x: y}, node: {cpu: 1}, maxNodes: 0}}", "pools.a.maxNodes"),
        ("pools: {a: {nodeSelector: {x: y}, node: {cpu: 1}, maxNodes: 1.5}}", "pools.a.maxNodes"),
        (
            "pools: {a: {nodeSelector: {x: y}, node: {cpu: 1}, maxNodes: 1, spareNodes: 2}}",
            "pools.a.spareNodes",
        ),
        (
            "schedules: {s: {days: [Mo], from: 08:00, to: 09:00, timezone: UTC}}",
            "schedules.s.days[0]",
        ),
        ("schedules: {s: {days: [], from: 08:00, to: 09:00, timezone: UTC}}", "schedules.s.days"),
        ("schedules: {s: {days: [Mon], from: 8am, to: 09:00, timezone: UTC}}", "schedules.s.from"),
        (
            "schedules: {s: {days: [Mon], from: 08:00, to: 09:00, timezone: Europe}}",
            "schedules.s.timezone",
        ),
        (
            "schedules: {s: {days: [Mon], from: 08:00, to: 09:00, timezone: ../etc}}",
            "schedules.s.timezone",
        ),
        (
            "schedules: {s: {days: [Mon], from: 0:00, to: 09:00, timezone: UTC}}",
            "schedules.s.from",
        ),
        ("idleAfter: 30m", "idleAfter"),
        ("defaults: {dryRun: true, dryRun: false}", "defaults.dryRun"),
        ("- defaults", "(document)"),
    ],
)
def test_one_problem(text: str, path: str) -> None:
    """A10: each fault is one problem, named by its path, with what is allowed."""
    found = problems(text)
    assert list(found) == [path]
    assert found[path]


def test_all_problems_at_once() -> None:
    """Faults of syntax, names, values and between keys are all in one answer."""
    text = (
        "defaults: {idleAfter: 1s, wake: gone, dryrun: true}\n"
        "pools: {a: {nodeSelector: {x: y}, node: {cpu: -1}, maxNodes: ten}}\n"
        "schedules: {s: {days: [Mon], from: 08:00, to: 09:00, timezone: UTC, spareNodes: {a: 1}}}\n"
        "defaults: {}\n"
    )
    assert set(problems(text)) == {
        "defaults",
        "defaults.idleAfter",
        "defaults.wake",
        "defaults.dryrun",
        "pools.a.node.cpu",
        "pools.a.maxNodes",
    }


@pytest.mark.parametrize(
    ("second", "overlap"),
    [
        ("{pool: a}", True),
        ("{pool: a, zone: z}", True),
        ("{zone: z}", True),
        ("{pool: b}", False),
        ("{pool: b, zone: z}", False),
    ],
)
def test_overlapping_pools(second: str, *, overlap: bool) -> None:
    """Two pools overlap unless one label key that both name differs."""
    text = f"pools: {{a: {POOL}, b: {{nodeSelector: {second}, node: {{cpu: 1}}, maxNodes: 1}}}}"
    assert isinstance(parse_policy(text), tuple) == overlap
    assert not overlap or "pool a too" in problems(text)["pools.b.nodeSelector"]


def test_schedule_of_a_pool_that_is_not_there() -> None:
    """A schedule's spareNodes name pools, and stay within their maxNodes."""
    text = (
        f"pools: {{a: {POOL}}}\nschedules: {{s: {{days: [Mon], from: 08:00, to: 09:00, "
        "timezone: UTC, spareNodes: {a: 4, b: 1}}}"
    )
    assert problems(text) == {
        "schedules.s.spareNodes.a": "maxNodes is 3",
        "schedules.s.spareNodes.b": "allowed are the names in pools: a",
    }


@pytest.mark.parametrize(
    "text",
    [
        "prometheus: {headers: {Authorization: 'hunter2\\n'}}",
        "prometheus: {headers: {Authorization: [hunter2]}}",
        'prometheus: {headers: {Authorization: "hunter2\\u00e9"}}',
        "prometheus: {headers: hunter2}",
        "prometheus: {headers: {Authorization: !x hunter2}}",
        "prometheus: {headers: {Authorization: a, Authorization: hunter2}}",
        "prometheus: {url: 'http://me:hunter2@prometheus:9090'}",
        "prometheus: {token: hunter2}",
        "prometheus: {headers: {Authorization: 'hunter2'}, nope: 1}",
        'prometheus: {headers: {Authorization: "hunter2}}',
    ],
)
def test_secrets_stay_hidden(text: str) -> None:
    """No problem quotes a header's value, nor what else may be a secret."""
    found = parse_policy(text)
    found = found if isinstance(found, tuple) else ()
    assert "hunter2" not in "".join(str(problem) for problem in found)


KEYS = st.sampled_from(
    [
        *(field.key for field in POLICY.fields),
        "idleAfter",
        "dryRun",
        "a",
        "node",
        "maxNodes",
        "days",
    ]
)
TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 200)
    | st.sampled_from([0.5, "30m", "a", "Mon", "08:00", "UTC", "8"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(st.text() | TREES.map(json.dumps) | st.dictionaries(KEYS, TREES).map(json.dumps))
def test_any_text(text: str) -> None:
    """Any text gives a Policy, or problems that all say what is allowed."""
    found = parse_policy(text)
    if isinstance(found, tuple):
        assert found
        assert all(problem.path and problem.allowed for problem in found)
    else:
        assert isinstance(found, Policy)


def test_shipped_example_parses() -> None:
    """The example that is shipped is a good policy."""
    assert isinstance(parse_policy(EXAMPLE.read_text()), Policy)
