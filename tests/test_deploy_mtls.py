"""The overlay with TLS fits the command, the base, KEDA's side and cert-manager's objects."""

from pathlib import PurePosixPath

from scaler import cli
from scaler.commands.certificate_arguments import certificate_files
from tests.kustomized import DEPLOY, Document, documents, named, rendered
from tests.test_deploy import NAME, container, pod

OVERLAY = DEPLOY / "overlays" / "mtls"
CERTIFICATES = documents(OVERLAY / "certificates.yaml")
SERVER, CLIENT = f"{NAME}-server", f"{NAME}-client"
KEYS = {"tls.crt", "tls.key", "ca.crt"}
"""What cert-manager puts into a Secret."""
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def deployment(of: list[Document] | None = None) -> Document:
    """Give the overlay's Deployment, or that of other objects."""
    return named(of or rendered(OVERLAY), "Deployment", NAME)


def certificate(name: str) -> Document:
    """Give the spec of a Certificate."""
    (found,) = (
        each["spec"]
        for each in CERTIFICATES
        if each["kind"] == "Certificate" and each["metadata"]["name"] == name
    )
    wanted: Document = found
    return wanted


def test_the_flags_name_files_of_the_mounted_secret() -> None:
    """Both ports have the certificate, gRPC its clients' authorities, the status port none."""
    flags = container(deployment())["args"]
    files = certificate_files(cli.parser().parse_args(flags), "grpc", "status")
    grpc, status = files["grpc"], files["status"]
    assert grpc is not None
    assert status is not None
    assert status.client_authorities is None
    assert (status.certificate, status.key) == (grpc.certificate, grpc.key)
    paths = [PurePosixPath(str(each)) for each in (grpc.certificate, grpc.key)]
    paths.append(PurePosixPath(str(grpc.client_authorities)))
    assert {path.name for path in paths} == KEYS
    mounts = {each["mountPath"]: each for each in container(deployment())["volumeMounts"]}
    (folder,) = {str(path.parent) for path in paths}
    assert "subPath" not in mounts[folder], "the kubelet would never update it"
    volumes = {each["name"]: each for each in pod(deployment())["volumes"]}
    assert volumes[mounts[folder]["name"]]["secret"] == {"secretName": SERVER}


def test_probes_are_what_a_kubelet_can_ask() -> None:
    """HTTPS without a certificate; as often, and as patient, as in the base."""
    base = container(deployment(rendered(DEPLOY)))
    secured = container(deployment())
    ports = {each["name"] for each in secured["ports"]}
    for name in PROBES:
        asked = secured[name].pop("httpGet")
        assert (asked["scheme"], asked["port"] in ports) == ("HTTPS", True)
        assert asked["path"] == ("/readyz" if name == "readinessProbe" else "/healthz")
        ways = {"grpc", "httpGet"}
        assert secured[name] == {k: v for k, v in base[name].items() if k not in ways}


def test_nothing_else_differs_from_the_base() -> None:
    """Other objects are the base's, and so is the rest of the Deployment."""
    base, secured = rendered(DEPLOY), rendered(OVERLAY)
    assert [each for each in secured if each["kind"] != "Deployment"] == [
        each for each in base if each["kind"] != "Deployment"
    ]
    before, after = container(deployment(base)), container(deployment(secured))
    assert after["args"][: len(before["args"])] == before["args"]
    changed = {key for key in after if after[key] != before.get(key)}
    assert changed == {"args", "volumeMounts", *PROBES}


def test_a_service_monitor_scrapes_over_https() -> None:
    """Where there is one; it knows the authority, and the name in the certificate."""
    monitored = rendered(DEPLOY / "components" / "servicemonitor", rendered(DEPLOY))
    (endpoint,) = named(rendered(DEPLOY / "components" / "mtls", monitored), "ServiceMonitor")[
        "spec"
    ]["endpoints"]
    assert endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"]["ca"]["secret"] == {"name": SERVER, "key": "ca.crt"}
    assert endpoint["tlsConfig"]["serverName"] in certificate(SERVER)["dnsNames"]


def test_the_certificate_has_the_name_that_keda_dials() -> None:
    """The host of every example's address."""
    (trigger,) = named(documents(DEPLOY / "examples" / "mtls.yaml"), "ScaledObject")["spec"][
        "triggers"
    ]
    host, _, _ = trigger["metadata"]["scalerAddress"].rpartition(":")
    assert host in certificate(SERVER)["dnsNames"]
    assert "server auth" in certificate(SERVER)["usages"]


def test_certificates_end_up_in_the_secrets_that_are_read() -> None:
    """The server's beside the service; KEDA's where ClusterTriggerAuthentications are looked up."""
    places = {
        each["spec"]["secretName"]: each["metadata"]["namespace"]
        for each in CERTIFICATES
        if each["kind"] == "Certificate"
    }
    assert places == {SERVER: NAME, CLIENT: "keda", f"{NAME}-ca": "cert-manager"}
    assert "client auth" in certificate(CLIENT)["usages"]


def test_both_ends_have_one_authority_whose_key_stays() -> None:
    """So a renewed authority makes nothing untrusted that was signed before."""
    issuers = {each["metadata"]["name"]: each for each in CERTIFICATES if "Issuer" in each["kind"]}
    for name in (SERVER, CLIENT):
        reference = certificate(name)["issuerRef"]
        assert reference["kind"] == issuers[reference["name"]]["kind"]
        assert issuers[reference["name"]]["spec"]["ca"]["secretName"] == f"{NAME}-ca"
    authority = certificate(f"{NAME}-ca")
    assert (authority["isCA"], authority["privateKey"]["rotationPolicy"]) == (True, "Never")


def test_keda_gets_all_that_it_takes() -> None:
    """From one Secret in cert-manager's form, by the authentication that the trigger names."""
    example = documents(DEPLOY / "examples" / "mtls.yaml")
    authentication = named(example, "ClusterTriggerAuthentication")
    taken = {each["parameter"]: each for each in authentication["spec"]["secretTargetRef"]}
    assert set(taken) == {"caCert", "tlsClientCert", "tlsClientKey"}
    assert {each["name"] for each in taken.values()} == {CLIENT}
    assert {each["key"] for each in taken.values()} == KEYS
    (trigger,) = named(example, "ScaledObject")["spec"]["triggers"]
    assert trigger["authenticationRef"] == {
        "kind": authentication["kind"],
        "name": authentication["metadata"]["name"],
    }
