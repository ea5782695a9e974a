"""What differs on OpenShift fits together."""

from scaler.core.policy import Policy
from scaler.policyfile import parse_policy
from tests.kustomized import DEPLOY, Document, named, rendered
from tests.test_deploy import NAME, container, deployments, pod

OVERLAY = DEPLOY / "overlays" / "openshift"


def policy() -> Policy:
    """Parse the policy that the overlay brings."""
    text = named(rendered(OVERLAY), "ConfigMap", f"{NAME}-policy")["data"]["policy.yaml"]
    parsed = parse_policy(text)
    assert isinstance(parsed, Policy), parsed
    return parsed


def the_deployment() -> Document:
    """Give the one Deployment of the overlay."""
    (only,) = deployments(OVERLAY)
    return only


def test_samples_come_from_the_thanos_querier() -> None:
    """With the pod's own token, which every pod that asks for one has there."""
    prometheus = policy().prometheus
    assert prometheus.url == "https://thanos-querier.openshift-monitoring.svc:9091"
    assert prometheus.token_file == "/var/run/secrets/kubernetes.io/serviceaccount/token"
    assert pod(the_deployment())["automountServiceAccountToken"] is True


def test_the_authorities_are_where_the_policy_says() -> None:
    """The key is named, so that the pod waits until the cluster has put them in."""
    authorities = named(rendered(OVERLAY), "ConfigMap", f"{NAME}-service-ca")
    assert authorities["metadata"]["annotations"] == {
        "service.beta.openshift.io/inject-cabundle": "true"
    }
    mounts = container(the_deployment())["volumeMounts"]
    paths = {each["name"]: each["mountPath"] for each in mounts}
    volumes = {each["name"]: each["configMap"] for each in pod(the_deployment())["volumes"]}
    assert volumes["service-ca"]["name"] == authorities["metadata"]["name"]
    (item,) = volumes["service-ca"]["items"]
    assert item["key"] == "service-ca.crt"
    assert policy().prometheus.ca_file == f"{paths['service-ca']}/{item['path']}"


def test_the_account_may_ask_it() -> None:
    """And nothing more than view metrics."""
    binding = named(rendered(OVERLAY), "ClusterRoleBinding", f"{NAME}-monitoring")
    assert binding["roleRef"]["name"] == "cluster-monitoring-view"
    assert pod(the_deployment())["serviceAccountName"] in {
        subject["name"] for subject in binding["subjects"]
    }


def test_no_user_is_fixed() -> None:
    """The strictest constraints pick one of the namespace's own range."""
    for deployment in deployments(OVERLAY):
        contexts = [pod(deployment)["securityContext"], container(deployment)["securityContext"]]
        for context in contexts:
            assert not {"runAsUser", "runAsGroup", "fsGroup", "supplementalGroups"} & context.keys()
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        assert annotations["openshift.io/required-scc"] == "restricted-v2"


def test_it_is_scraped_once() -> None:
    """By the ServiceMonitor, which finds the Service; not by annotations too."""
    objects = rendered(OVERLAY)
    monitor, service = named(objects, "ServiceMonitor"), named(objects, "Service")
    wanted = monitor["spec"]["selector"]["matchLabels"]
    assert wanted.items() <= service["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["endpoints"]
    assert endpoint["port"] in {each["name"] for each in service["spec"]["ports"]}
    assert endpoint["honorLabels"] is True
    annotations = the_deployment()["spec"]["template"]["metadata"]["annotations"]
    assert not any(each.startswith("prometheus.io/") for each in annotations)


def test_keda_and_dns_are_elsewhere() -> None:
    """KEDA in the operator's namespace, DNS at the port that its pods have."""
    spec = named(rendered(OVERLAY), "NetworkPolicy")["spec"]
    (keda,) = spec["ingress"][0]["from"]
    assert keda["namespaceSelector"]["matchLabels"] == {
        "kubernetes.io/metadata.name": "openshift-keda"
    }
    assert {each["port"] for each in spec["egress"][0]["ports"]} == {53, 5353}


def test_the_actuator_is_changed_likewise() -> None:
    """Where a kustomization lists its component before this one."""
    both = rendered(DEPLOY / "components" / "openshift", rendered(DEPLOY / "overlays" / "actuator"))
    found = [each for each in both if each["kind"] == "Deployment"]
    assert len(found) == 2
    for deployment in found:
        assert {each["name"] for each in pod(deployment)["volumes"]} == {"policy", "service-ca"}
    binding = named(both, "ClusterRoleBinding", f"{NAME}-monitoring")
    accounts = {pod(each)["serviceAccountName"] for each in found}
    assert {subject["name"] for subject in binding["subjects"]} == accounts
