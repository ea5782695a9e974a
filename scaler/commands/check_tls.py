"""What a trigger says of TLS that KEDA does not hear."""

from collections.abc import Iterator, Mapping

from scaler.commands.check_files import Finding, Manifest
from scaler.policyfile.document import Path, Tree

ONLY_BY_REFERENCE = ("caCert", "tlsClientCert", "tlsClientKey")
"""KEDA takes these from authenticationRef alone; documents of older versions show them here."""


def judge_tls(manifest: Manifest, path: Path, metadata: Mapping[str, Tree]) -> Iterator[Finding]:
    """Judge a trigger's metadata; no value is shown, one may be a key."""
    for key in ONLY_BY_REFERENCE:
        if key in metadata:
            allowed = (
                "KEDA ignores it here, and anybody who sees the ScaledObject reads it: "
                "put it into a Secret, and that into a TriggerAuthentication for authenticationRef"
            )
            yield manifest.warning((*path, "metadata", key), value="", allowed=allowed)
