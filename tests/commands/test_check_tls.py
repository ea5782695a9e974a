"""Certificates that KEDA would not find are told of."""

import pytest

from scaler.commands.check_files import Manifest, Severity
from scaler.commands.check_rules import judge


def manifest(**metadata: str) -> Manifest:
    """Build a ScaledObject whose trigger has these keys too."""
    ours = {"scalerAddress": "x:1", "signal": "queue", "clusterQueue": "q", "unit": "gpus"}
    return Manifest(
        file="so.yaml",
        kind="ScaledObject",
        namespace="ml",
        name="so",
        tree={"spec": {"triggers": [{"type": "external", "metadata": ours | metadata}]}},
    )


@pytest.mark.parametrize("key", ["caCert", "tlsClientCert", "tlsClientKey"])
def test_certificates_in_the_metadata_are_ignored_by_keda(key: str) -> None:
    """The documents of older versions show them there; the value is not shown, it may be a key."""
    (found,) = [each for each in judge(manifest(**{key: "PEM"})) if key in each.problem.path]
    assert found.severity is Severity.WARNING
    assert "TriggerAuthentication" in found.problem.allowed
    assert "PEM" not in str(found)


def test_a_trigger_that_names_an_authentication_is_fine() -> None:
    """The keys of KEDA's own that belong into the metadata are no business of ours."""
    told = [str(each) for each in judge(manifest(enableTLS="true"))]
    assert not [each for each in told if "TLS" in each]
