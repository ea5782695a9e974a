"""What the actuator's overlay adds runs as it must."""

from tests.kustomized import DEPLOY, Document, named, rendered
from tests.test_deploy import LABELS, container, port, shipped

OVERLAY = DEPLOY / "overlays" / "actuator"
NAME = "kueue-gpu-scaler-actuator"


def actuator() -> Document:
    """Give the actuator's Deployment."""
    return named(rendered(OVERLAY), "Deployment", NAME)


def test_the_overlay_only_adds() -> None:
    """What the base has stays as it is, so that both can be told apart and taken away again."""
    base, overlay = rendered(DEPLOY), rendered(OVERLAY)
    assert [each for each in base if each not in overlay] == []
    added = [each for each in overlay if each not in base]
    assert {each["metadata"]["labels"]["app.kubernetes.io/component"] for each in added} == {
        "actuator"
    }


def test_the_service_does_not_find_it() -> None:
    """It answers no gRPC; KEDA must never be sent there."""
    labels = actuator()["spec"]["template"]["metadata"]["labels"]
    assert labels.items() > (LABELS | {"app.kubernetes.io/component": "actuator"}).items()
    assert not shipped("Service")["spec"]["selector"].items() <= labels.items()


def test_the_actuator_is_probed_on_its_status_port() -> None:
    """It serves no gRPC."""
    found = container(actuator())
    command, *flags = found["args"]
    assert command == "actuate"
    assert f"--status=:{port('http', actuator())}" in flags
    paths = {name: found[name]["httpGet"]["path"] for name in found if name.endswith("Probe")}
    assert paths == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }
    assert {entry["name"] for entry in found["env"]} == {"POD_NAMESPACE", "POD_NAME", "POD_UID"}
