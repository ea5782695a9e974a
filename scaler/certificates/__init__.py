"""Certificates of the ports: read, judged whole, renewed while running; the last good ones stay.

Knows nothing of gRPC or HTTP: `rpc` and `status` take what is in use at each handshake.
"""

from scaler.certificates.identity import Identity
from scaler.certificates.renewal import Renewal
from scaler.certificates.watch import Certificates, CertificatesError, CertificateState, Port

__all__ = ["CertificateState", "Certificates", "CertificatesError", "Identity", "Port", "Renewal"]
