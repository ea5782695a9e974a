"""`explain` says what is decided and why, from a cluster and from a bundle."""

import io
import json
import re
from pathlib import Path

import pytest

from scaler import cli
from scaler.core.model import Kind
from scaler.sim.scenario import LLM, POOL_SCALER
from tests.commands.furnished import Furnished
from tests.commands.situations import busy, idle, malformed, queued, without_prometheus

IDLE, POOL = "/".join(LLM), "/".join(POOL_SCALER)


def test_a_decision_is_told_with_its_reason_and_exits_0(cluster: Furnished) -> None:
    """A team lead reads why the workers go."""
    idle(cluster)
    code, told = cluster.run("explain", IDLE)
    assert code == 0
    assert told.startswith(f"{IDLE}  inactive, value 1\n  reason    Idle: ")
    assert "setting   idleAfter = 5m  (defaults)" in told


def test_hold_exits_3_and_names_what_is_missing(cluster: Furnished) -> None:
    """Without Prometheus nothing is scaled, and that is said."""
    without_prometheus(cluster)
    code, told = cluster.run("explain", IDLE)
    assert code == 3
    assert "HOLD\n  reason    PrometheusFailed: " in told


def test_malformed_metadata_exits_2_with_every_problem(cluster: Furnished) -> None:
    """The decision is shown all the same: KEDA gets INVALID_ARGUMENT."""
    cluster.change_trigger(dryRun="perhaps")
    malformed(cluster)
    code, told = cluster.run("explain", IDLE)
    assert code == 2
    assert told.count("  problem   ") == 2


def test_json_is_one_object_for_one_trigger(cluster: Furnished) -> None:
    """Programs read the same Decision."""
    queued(cluster)
    code, told = cluster.run("explain", POOL, "-o", "json")
    shown = json.loads(told)
    assert (code, shown["status"], shown["active"], shown["value"]) == (0, "OK", True, 4)
    assert shown["answer"]["metricValues"] == [4]


def test_every_trigger_of_ours_is_explained_in_order(cluster: Furnished) -> None:
    """Those of other scalers are left out."""
    idle(cluster)
    document = cluster.cluster.objects.get(Kind.SCALED_OBJECTS, LLM)
    assert document is not None
    (first,) = document["spec"]["triggers"]
    queue = {"signal": "queue", "clusterQueue": "team-vision", "unit": "gpus"}
    others = [{"type": "cpu", "metadata": {}}, first, {"type": "external", "metadata": queue}]
    cluster.cluster.objects.modify(
        Kind.SCALED_OBJECTS, LLM, lambda document: document["spec"].update(triggers=others)
    )
    _, told = cluster.run("explain", IDLE, "-o", "json")
    assert [set(one["evidence"]) & {"idle", "queue"} for one in json.loads(told)] == [
        {"idle"},
        {"queue"},
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        (f"scaledobject/{LLM[1]}", "-n", LLM[0]),
        (f"so/{LLM[1]}", "--namespace", LLM[0]),
        (f"scaledobjects.keda.sh/{LLM[1]}", "-n", LLM[0]),
        (LLM[1], "-n", LLM[0]),
    ],
)
def test_a_scaled_object_is_named_as_kubectl_names_it(
    arguments: tuple[str, ...], cluster: Furnished
) -> None:
    """With a namespace beside it."""
    assert cluster.run("explain", *arguments) == cluster.run("explain", IDLE)


@pytest.mark.parametrize(
    "arguments",
    [("llm",), ("a/b/c",), ("/llm",), ("ns/",), ("deployment/llm", "-n", "ns"), ("so/", "-n", "n")],
)
def test_what_names_no_scaled_object_is_refused(
    arguments: tuple[str, ...], cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is allowed is said, and nothing is asked of the cluster."""
    assert cluster.run("explain", *arguments) == (2, "")
    said = capsys.readouterr().err
    assert f"{arguments[0]!r} names no ScaledObject; NAMESPACE/NAME" in said


def test_an_unknown_scaled_object_names_those_that_are_ours(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error is seen at once."""
    assert cluster.run("explain", "team-chat/lm") == (2, "")
    assert capsys.readouterr().err == (
        f"kueue-gpu-scaler: ScaledObject team-chat/lm does not exist; do you mean {IDLE}? "
        f"those that have one: {POOL}, {IDLE}\n"
    )


@pytest.mark.parametrize("name", [IDLE.upper(), IDLE.title()])
def test_a_name_in_capital_letters_is_known_for_the_small_one(
    name: str, cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kubernetes has none."""
    assert cluster.run("explain", name) == (2, "")
    assert f"ScaledObject {name} does not exist; do you mean {IDLE}? " in capsys.readouterr().err


def test_a_scaled_object_without_our_trigger_is_said_to_have_none(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is another thing than one that does not exist."""
    document = {
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"scaleTargetRef": {"name": "web"}, "triggers": [{"type": "cpu"}]},
    }
    cluster.cluster.apply(Kind.SCALED_OBJECTS, document)
    assert cluster.run("explain", "shop/web") == (2, "")
    assert "ScaledObject shop/web has no trigger of ours; " in capsys.readouterr().err


def test_a_cluster_without_any_of_ours_says_so(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to name."""
    for name in (LLM, POOL_SCALER):
        cluster.cluster.objects.delete(Kind.SCALED_OBJECTS, name)
    assert cluster.run("explain", IDLE) == (2, "")
    assert "does not exist; no ScaledObject of this cluster has one" in capsys.readouterr().err


def test_scaled_objects_that_cannot_be_read_are_one_sentence(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the API server said is in it."""
    cluster.cluster.api.faults.forbidden.add(Kind.SCALED_OBJECTS)
    assert cluster.run("explain", IDLE) == (2, "")
    said = capsys.readouterr().err
    assert said.startswith("kueue-gpu-scaler: ScaledObjects can't be read: 403 on list ")
    assert said.count("\n") == 1


def test_without_a_policy_the_defaults_decide_and_that_is_said(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard error: the output is for programs too."""
    idle(cluster)
    _, told = cluster.run("explain", IDLE, "-o", "json", with_policy=False)
    effective = json.loads(told)["effective"]
    assert {"key": "idleAfter", "value": "30m", "rule": "built-in"} in effective
    said = capsys.readouterr().err
    assert "deciding by the built-in defaults" in said
    assert "kubectl get configmap kueue-gpu-scaler-policy -n kueue-gpu-scaler" in said


def test_a_config_map_is_a_policy_too(
    cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """As kubectl gives the one that is installed; another object is told to be no policy."""
    idle(cluster)
    plain = cluster.run("explain", IDLE, "-o", "json")
    text = cluster.policy.read_text(encoding="utf-8")
    wrapped = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"policy.yaml": text}}
    cluster.policy.write_text(json.dumps(wrapped), encoding="utf-8")
    assert cluster.run("explain", IDLE, "-o", "json") == plain
    cluster.policy.write_text(json.dumps({**wrapped, "data": {"x": text}}), encoding="utf-8")
    assert cluster.run("explain", IDLE) == (2, "")
    assert "is no good policy" in capsys.readouterr().err


def test_something_to_explain_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence says what."""
    args = cli.parser().parse_args(["explain"])
    assert args.run(args, io.StringIO()) == 2
    assert "explain takes NAMESPACE/NAME, KIND/NAME or --bundle DIR" in capsys.readouterr().err


def test_what_would_have_to_change_is_told_below_the_reason(cluster: Furnished) -> None:
    """A team lead reads when the workers go."""
    busy(cluster)
    _, told = cluster.run("explain", IDLE)
    change = next(line for line in told.splitlines() if line.startswith("  to change "))
    assert re.fullmatch(
        r"  to change idle at [0-9:]{8} UTC \(in 5m\) if no GPU reaches 1 % until then.*", change
    )
    _, told = cluster.run("explain", IDLE, "-o", "json")
    (shown,) = json.loads(told)["changes"]
    assert (shown["lever"], shown["more"]) == ("Activity", {"seconds": 300})


def test_a_bundle_s_scaled_object_is_explained_by_name(
    cluster: Furnished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same words as the cluster's, and without its trigger.yaml any other of it too."""
    queued(cluster)
    folder = tmp_path / "bundle"
    assert cluster.run("capture", str(folder), IDLE)[0] == 0
    live = cluster.run("explain", POOL)
    args = cli.parser().parse_args(["explain", POOL, "--bundle", str(folder)])
    out = io.StringIO()
    assert (args.run(args, out), out.getvalue()) == live
    args = cli.parser().parse_args(["explain", POOL[:-1], "--bundle", str(folder)])
    assert args.run(args, io.StringIO()) == 2
    assert "do you mean" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("workload/x",), "needs a namespace: workload/x -n NAMESPACE"),
        (("so/x",), "needs a namespace: so/x -n NAMESPACE"),
        (("clusterqueue/a/b",), "names no ScaledObject; NAMESPACE/NAME"),
    ],
)
def test_a_kind_is_named_with_what_it_needs(
    arguments: tuple[str, ...], said: str, cluster: Furnished, capsys: pytest.CaptureFixture[str]
) -> None:
    """What lacks is said, and nothing is asked of the cluster."""
    assert cluster.run("explain", *arguments) == (2, "")
    assert said in capsys.readouterr().err


def test_a_bundle_of_somebody_else_s_commands_no_terminal(tmp_path: Path) -> None:
    """Its texts were written by others; line breaks are ours, all else is not shown."""
    trigger = {
        "namespace": "ml",
        "name": "\x1b]0;x\x07llm\u202e",
        "scalerMetadata": {"signal": "no"},
    }
    (tmp_path / "trigger.yaml").write_text(json.dumps(trigger))
    (tmp_path / "now").write_text("2026-05-01T10:00:00Z")
    args = cli.parser().parse_args(["explain", "--bundle", str(tmp_path)])
    out = io.StringIO()
    assert args.run(args, out) == 2
    told = out.getvalue()
    assert "\N{REPLACEMENT CHARACTER}llm" in told
    assert told.replace("\n", "").isprintable()
