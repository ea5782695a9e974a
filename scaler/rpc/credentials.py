"""The certificates that are in use, as gRPC takes them: asked for anew at each handshake."""

import grpc

from scaler.certificates import Certificates, Identity


def server_credentials(certificates: Certificates) -> grpc.ServerCredentials:
    """Give credentials that follow the certificates; open connections keep what they began with.

    gRPC asks one handshake at a time, in threads of its own, so that no event loop waits. A new
    configuration replaces all of the old one: key, certificate, authorities, and the keys of
    session tickets, so that nobody whose authority is gone comes in by an earlier session.
    TLS 1.2 is the least that gRPC's servers speak.
    """
    given = certificates.state.identity

    def newest() -> grpc.ServerCertificateConfiguration | None:
        nonlocal given
        identity = certificates.state.identity
        if identity is given:
            return None
        given = identity
        return _configuration(identity)

    return grpc.dynamic_ssl_server_credentials(
        _configuration(given),
        newest,  # type: ignore[arg-type] # None is "no change", which the stubs don't know
        require_client_authentication=certificates.needs_clients,
    )


def _configuration(identity: Identity) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(identity.key, identity.certificate)], identity.client_authorities
    )
