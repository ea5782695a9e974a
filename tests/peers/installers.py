"""What kustomize and Helm make of deploy/: the same objects, and what the tests take them to be."""

import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import yaml

import scaler
from tests.golang import GoModule
from tests.kustomized import DEPLOY, Document, containers, rendered
from tests.report import Report

NAME = "kueue-gpu-scaler"
CHART = DEPLOY / "chart"
INSTALLERS = GoModule(
    name="installers",
    source=Path(__file__).parent / "installers",
    programs=("helm", "kustomize"),
    first_build="about 3 minutes on two cores",
)
OWN_LABELS = {
    "app.kubernetes.io/managed-by": "Helm",
    "helm.sh/chart": f"{NAME}-{scaler.__version__}",
}
"""Of every object of the chart, and of no other."""
KEPT = {"helm.sh/resource-policy": "keep"}
"""Annotation of the chart's CRD alone."""
SWITCHES = {
    "actuator": "actuator.enabled",
    "openshift": "openshift.enabled",
    "servicemonitor": "serviceMonitor.enabled",
    "podmonitor": "podMonitor.enabled",
    "mtls": "mtls.enabled",
}
"""The chart's value for each component."""
COMBINATIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("actuator",),
    ("openshift", "servicemonitor"),
    ("actuator", "podmonitor"),
    ("actuator", "openshift", "servicemonitor", "podmonitor"),
    ("mtls",),
    ("actuator", "servicemonitor", "podmonitor", "mtls"),
    ("openshift", "servicemonitor", "mtls"),
)
OPENSHIFT_POLICY = DEPLOY / "overlays" / "openshift" / "policy.yaml"
Objects: TypeAlias = Mapping[tuple[str, str], Document]


def run(report: Report) -> None:
    """Hold each rendering against its counterpart."""
    with tempfile.TemporaryDirectory(dir=DEPLOY.parent / ".build") as folder:
        _kustomizations(report)
        _watched(report)
        _of_users(report, Path(folder))
        _charts(report, Path(folder))
        _refusals(report, Path(folder))
        _by_itself(report)
        _texts(report)
        _own_policy(report)
        _two_releases(report)


# --- kustomize -----------------------------------------------------------------------------------


def _kustomizations(report: Report) -> None:
    """The tests read kustomizations without kustomize; here is that they read them right."""
    overlays = sorted(path.parent for path in DEPLOY.glob("overlays/*/kustomization.yaml"))
    for folder in (DEPLOY, *overlays):
        name = folder.relative_to(DEPLOY.parent)
        _same(
            report, f"{name} as kustomize makes it", _kustomized(folder), _keyed(rendered(folder))
        )


def _watched(report: Report) -> None:
    """Dashboards and alerts are loaded by kustomizations of their own."""
    maps = _kustomized(DEPLOY / "grafana").values()
    loaded = {name: text for each in maps for name, text in each["data"].items()}
    there = {path.name: path.read_text() for path in (DEPLOY / "grafana").glob("*.json")}
    labels = {each["metadata"]["labels"]["grafana_dashboard"] for each in maps}
    ok = loaded == there and labels == {"1"} and {each["kind"] for each in maps} == {"ConfigMap"}
    report.check("deploy/grafana gives each dashboard to Grafana's sidecar", ok=ok, found=labels)
    kinds = [kind for kind, _ in _kustomized(DEPLOY / "monitoring")]
    ok = kinds == ["PrometheusRule"]
    report.check("deploy/monitoring gives a PrometheusRule", ok=ok, found=kinds)


def _of_users(report: Report, folder: Path) -> None:
    """A kustomization as the README shows it: another image, policy and namespace."""
    whole = _kustomization(
        folder,
        ["actuator", "openshift"],
        policy="{}\n",
        namespace="elsewhere",
        image="example.com/x",
    )
    found = _kustomized(whole)
    places = {each["metadata"].get("namespace", "elsewhere") for each in found.values()}
    places |= {
        subject["namespace"] for each in found.values() for subject in each.get("subjects", ())
    }
    report.check("another namespace reaches every object", ok=places == {"elsewhere"}, found=places)
    images = {each["image"] for wanted in found.values() for each in containers(wanted)}
    want = {f"example.com/x:{scaler.__version__}"}
    report.check("another image reaches both Deployments", ok=images == want, found=images)
    policy = found["ConfigMap", f"{NAME}-policy"]["data"]
    report.check("another policy replaces the one there", ok=policy == {"policy.yaml": "{}\n"})


def _kustomization(
    folder: Path,
    components: Sequence[str],
    *,
    policy: str | None = None,
    namespace: str | None = None,
    image: str | None = None,
) -> Path:
    """Write a kustomization over deploy/, as a user does."""
    into = Path(tempfile.mkdtemp(dir=folder))
    deploy = "../" * len(into.relative_to(DEPLOY.parent).parts) + "deploy"
    content: Document = {
        "resources": [deploy],
        "components": [f"{deploy}/components/{each}" for each in components],
    }
    if policy is not None:
        (into / "policy.yaml").write_text(policy)
        files = {"files": ["policy.yaml"], "behavior": "replace", "namespace": NAME}
        content["configMapGenerator"] = [{"name": f"{NAME}-policy", **files}]
        content["generatorOptions"] = {"disableNameSuffixHash": True}
    if namespace is not None:
        content["namespace"] = namespace
    if image is not None:
        content["images"] = [{"name": NAME, "newName": image}]
    (into / "kustomization.yaml").write_text(yaml.safe_dump(content))
    return into


# --- Helm ----------------------------------------------------------------------------------------


def _charts(report: Report, folder: Path) -> None:
    """Each switch of the chart gives what the component of its name gives."""
    for components in COMBINATIONS:
        policy = OPENSHIFT_POLICY.read_text() if "openshift" in components else None
        want = dict(_kustomized(_kustomization(folder, components, policy=policy)))
        values = [f"{SWITCHES[each]}=true" for each in components]
        title = f"the chart with {', '.join(values) or 'its default values'}"
        whole = _chart("namespace.create=true", *values)
        _same(report, f"{title}, and namespace.create, is its kustomization", whole, want)
        # Helm makes the namespace of a release, and takes none that is there already.
        del want["Namespace", NAME]
        _same(report, f"{title} is that but for the Namespace", _chart(*values), want)


def _refusals(report: Report, folder: Path) -> None:
    """What is no value is refused, at every depth."""
    for values in ({"replica": 3}, {"actuator": {"on": True}}, {"replicas": 0}, {"image": "x"}):
        path = folder / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        done = _helm("template", NAME, str(CHART), f"--values={path}")
        named = str(next(iter(values))) in done.stderr
        report.check(
            f"the chart refuses {values}",
            ok=done.returncode != 0 and named,
            found=done.stderr[-300:],
        )
    for release in ("1st", "a.b"):
        done = _helm("template", release, str(CHART))
        ok = done.returncode != 0 and "set fullnameOverride" in done.stderr
        report.check(f"a release {release} says what a Service can't be called", ok=ok)


def _by_itself(report: Report) -> None:
    """What the chart alone can do, or do wrong."""
    done = _helm("lint", "--strict", str(CHART))
    report.check("helm lint finds nothing", ok=done.returncode == 0, found=done.stdout)
    one = _chart("replicas=1", "actuator.enabled=true", "actuator.replicas=1")
    budgets = [name for kind, name in one if kind == "PodDisruptionBudget"]
    report.check("a single replica holds up no drain", ok=not budgets, found=budgets)


def _texts(report: Report) -> None:
    """Names that YAML would read as numbers or as true stay texts, as Kubernetes takes them."""
    values = ["mtls.secretName=12", "priorityClass.name=34", "networkPolicy.kedaNamespace=56"]
    settings = [word for each in values for word in ("--set-string", each)]
    switches = ["--set=mtls.enabled=true,actuator.enabled=true", "--namespace=78"]
    done = _helm("template", "true", str(CHART), *settings, *switches)
    found = list(_scalars(list(yaml.safe_load_all(done.stdout))))
    lost = [each for each in ("12", "34", "56", "78", "true") if each not in found]
    odd = [each for each in (12, 34, 56, 78) if each in found]
    report.check("names like numbers stay texts", ok=not lost and not odd, found=[*lost, *odd])


def _own_policy(report: Report) -> None:
    """A policy that comes another way is mounted by both, and none is made beside it."""
    found = _chart("policyConfigMap=tuned", "actuator.enabled=true")
    volumes = [
        volume["configMap"]["name"]
        for (kind, _), each in found.items()
        if kind == "Deployment"
        for volume in each["spec"]["template"]["spec"]["volumes"]
        if volume["name"] == "policy"
    ]
    made = [name for kind, name in found if kind == "ConfigMap"]
    report.check("policyConfigMap is mounted by both", ok=volumes == ["tuned"] * 2, found=volumes)
    report.check("and no other policy is made", ok=not made, found=made)


def _scalars(part: object) -> Iterator[object]:
    """Give all values within."""
    if isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _scalars(each)
    else:
        yield part


def _two_releases(report: Report) -> None:
    """Releases of two names share no object; the CRD is installed by one of them."""
    first, second = _chart(), _chart("crds.install=false", release="second")
    report.check("two releases share no object", ok=not first.keys() & second.keys())
    pods = second["Deployment", f"second-{NAME}"]["spec"]["template"]["metadata"]["labels"]
    selector = first["Service", NAME]["spec"]["selector"]
    report.check("nor finds one the other's pods", ok=not selector.items() <= pods.items())


def _chart(*values: str, release: str = NAME) -> Objects:
    """Give the chart's objects without what is Helm's alone.

    Raises:
        RuntimeError: Helm refused, or one lacks what all of the chart have.
    """
    settings = [word for each in values for word in ("--set", each)]
    done = _helm("template", release, str(CHART), f"--namespace={NAME}", *settings)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    objects = _keyed(yaml.safe_load_all(done.stdout))
    for each in objects.values():
        _take(each["metadata"]["labels"], OWN_LABELS)
        if each["kind"] == "CustomResourceDefinition":
            _take(each["metadata"], {"annotations": KEPT})
    return objects


def _take(found: Document, own: Document) -> None:
    """Take keys away that have just these values."""
    for key, value in own.items():
        if found.pop(key, None) != value:
            raise RuntimeError(f"{key} is not {value}")


def _helm(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(INSTALLERS.program("helm")), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- both ----------------------------------------------------------------------------------------


def _kustomized(folder: Path) -> Objects:
    """Give what kustomize makes of a folder.

    Raises:
        RuntimeError: it refused.
    """
    command = [str(INSTALLERS.program("kustomize")), "build", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return _keyed(yaml.safe_load_all(done.stdout))


def _keyed(objects: Iterable[Document | None]) -> Objects:
    """Give objects by kind and name; none may be there twice."""
    found: dict[tuple[str, str], Document] = {}
    for each in objects:
        if each is None:
            continue  # a template that gave nothing
        key = each["kind"], each["metadata"]["name"]
        if key in found:
            raise RuntimeError(f"{key} twice")
        found[key] = each
    return found


def _same(report: Report, what: str, found: Objects, want: Objects) -> None:
    """Compare object by object, and name those that differ."""
    keys = sorted(found.keys() | want.keys())
    other = ["/".join(key) for key in keys if found.get(key) != want.get(key)]
    report.check(what, ok=bool(want) and not other, found=other, measured=f"{len(want)} objects")
