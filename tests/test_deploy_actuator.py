"""What is shipped for the actuator runs as it must."""

from tests.test_deploy import container, port, shipped

LABELS = {"app.kubernetes.io/name": "kueue-gpu-scaler-actuator"}


def test_the_actuator_has_a_second_that_waits() -> None:
    """One leads; the Service of the first Deployment does not find either."""
    spec = shipped("deployment-actuator")["spec"]
    assert spec["replicas"] == 2
    assert spec["selector"]["matchLabels"] == LABELS
    assert spec["template"]["metadata"]["labels"] == LABELS
    assert shipped("service")["spec"]["selector"] != LABELS


def test_the_actuator_is_probed_on_its_status_port() -> None:
    """It serves no gRPC."""
    found = container("deployment-actuator")
    command, *flags = found["args"]
    assert command == "actuate"
    assert f"--status=:{port('http', 'deployment-actuator')}" in flags
    paths = {name: found[name]["httpGet"]["path"] for name in found if name.endswith("Probe")}
    assert paths == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }
    assert {entry["name"] for entry in found["env"]} == {"POD_NAMESPACE", "POD_NAME", "POD_UID"}
