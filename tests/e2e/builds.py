"""The programs of the stack: which Go modules they come from."""

from pathlib import Path

from tests.golang import GoModule

STACK = Path(__file__).parent / "stack"
KUBERNETES_VERSION = "1.37.2"


def _version_stamp(version: str) -> str:
    """Give the linker flags without which kube-apiserver names no version and Kueue exits."""
    package = "k8s.io/component-base/version"
    major, minor, _ = version.split(".")
    names = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X {package}.{name}={value}" for name, value in names.items())


ETCD = GoModule(
    name="etcd",
    source=STACK / "etcd",
    programs=("server",),
    first_build="about 1 minute on two cores",
)
KUBERNETES = GoModule(
    name="kubernetes",
    source=STACK / "kubernetes",
    programs=("kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    first_build="about 10 minutes on two cores",
    link=_version_stamp(KUBERNETES_VERSION),
)
KWOK = GoModule(
    name="kwok",
    source=STACK / "kwok",
    programs=("kwok",),
    first_build="about 2 minutes on two cores",
)
KUEUE = GoModule(
    name="kueue",
    source=STACK / "kueue",
    programs=("kueue",),
    first_build="about 5 minutes on two cores",
)
KUBERAY = GoModule(
    name="kuberay",
    source=STACK / "kuberay",
    programs=("ray-operator",),
    first_build="about 2 minutes on two cores",
)
OLDER_KUBERAY = GoModule(
    name="kuberay-1.5",
    source=STACK / "kuberay-1.5",
    programs=("ray-operator",),
    first_build="about 2 minutes on two cores",
)
"""Its gate for suspended worker groups is off."""
TRAINER = GoModule(
    name="trainer",
    source=STACK / "trainer",
    programs=("trainer-controller-manager",),
    first_build="about 2 minutes on two cores",
)
JOBSET = GoModule(
    name="jobset",
    source=STACK / "jobset",
    programs=("jobset",),
    first_build="about 2 minutes on two cores",
)


def _keda(folder: str) -> GoModule:
    return GoModule(
        name=folder,
        source=STACK / folder,
        programs=("operator", "adapter"),
        first_build="about 12 minutes on two cores",
    )


KEDA = {"2.21": _keda("keda"), "2.20": _keda("keda-2.20"), "2.16": _keda("keda-2.16")}
"""By version; the first is the one that every run plays with."""
NEWEST_KEDA = next(iter(KEDA))
PROMETHEUS = GoModule(
    name="prometheus",
    source=STACK / "prometheus",
    programs=("prometheus", "promtool"),
    first_build="about 4 minutes on two cores",
    tags="remove_all_sd",
)


def programs(keda: str) -> tuple[GoModule, ...]:
    """Give all that a stack with a version of KEDA needs."""
    ray = (KUBERAY, OLDER_KUBERAY)
    return (ETCD, KUBERNETES, KWOK, KUEUE, *ray, JOBSET, TRAINER, KEDA[keda], PROMETHEUS)
