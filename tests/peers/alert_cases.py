"""When each alert fires and when it must not, as series for promtool."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

PREFIX = "kueue_gpu_scaler_"
POD = '{namespace="gpu-scaler", pod="kueue-gpu-scaler-0"'
GPU = '{Hostname="n1", gpu="3", UUID="GPU-3", modelName="A100"'
HELD = (
    'kueue_gpu_scaler_pod_gpus{namespace="ml", pod="w-0", node="n1", workload="wl",'
    ' owner="RayCluster/ray", cluster_queue="research", cohort="all", flavor="a100"}'
)
BUSY_GPU = 'DCGM_FI_PROF_GR_ENGINE_ACTIVE{exported_namespace="ml", exported_pod="w-0",'
SO = {"namespace": "ml", "scaled_object": "so"}
SO_TEXT = 'namespace="ml", scaled_object="so", metric="m"'
ON_NODE = {"node": "n1", "gpu": "3", "UUID": "GPU-3", "model": "A100"}
BREACH = {"cause": "UsageLost", "namespace": "ml", "worker_scale": "ray"}
BREACH_TEXT = 'cause="UsageLost", namespace="ml", worker_scale="ray"'
CERTIFICATE = {"namespace": "gpu-scaler", "pod": "a", "port": "grpc", "certificate": "server"}
CERTIFICATE_TEXT = 'namespace="gpu-scaler", pod="a", port="grpc", certificate="server"'
TENANT = {"cohort": "all", "cluster_queue": "research", "namespace": "ml"}
DAY = 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Series, a moment, and the alerts of one name that fire then."""

    alert: str
    name: str
    series: Mapping[str, str]
    """In promtool's notation, one value a minute."""
    at: str
    fires: tuple[Mapping[str, str], ...] = ()
    """Labels of each, without its severity."""
    value: str = ""
    """As descriptions show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Series, a moment, and what a recording rule makes of them."""

    expression: str
    name: str
    series: Mapping[str, str]
    at: str
    samples: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


def own(name: str, labels: str, values: str) -> dict[str, str]:
    """Give a series of our own."""
    return {f"{PREFIX}{name}{{{labels}}}": values}


def _both_replicas(name: str, first: str, second: str) -> dict[str, str]:
    return own(name, 'namespace="gpu-scaler", pod="a"', first) | own(
        name, 'namespace="gpu-scaler", pod="b"', second
    )


CASES: tuple[Case, ...] = (
    Case(
        alert="KueueGpuScalerDown",
        name="no replica is scraped",
        series={"up": "1x20"},
        at="6m",
        fires=({},),
    ),
    Case(
        alert="KueueGpuScalerDown",
        name="the actuator alone is there",
        series=own("policy_reload_ok", 'instance="a:8080"', "1x20")
        | own("leader", 'instance="a:8080"', "0x20"),
        at="6m",
        fires=({},),
    ),
    Case(
        alert="KueueGpuScalerDown",
        name="an actuator is there beside the service",
        series=own("policy_reload_ok", 'instance="a:8080"', "1x20")
        | own("policy_reload_ok", 'instance="b:8080"', "1x20")
        | own("leader", 'instance="a:8080"', "1x20"),
        at="6m",
    ),
    Case(
        alert="KueueGpuScalerDown",
        name="one of two replicas is there",
        series=_both_replicas("policy_reload_ok", "1x3", "1x20"),
        at="15m",
    ),
    Case(
        alert="KueueGpuScalerSourceStale",
        name="a source is down on one replica, another is stale",
        series=own("source_up", 'source="workloads", pod="a"', "0x20")
        | own("source_up", 'source="workloads", pod="b"', "1x20")
        | own("source_age_seconds", 'source="pods"', "400x20"),
        at="6m",
        fires=({"source": "workloads"}, {"source": "pods"}),
    ),
    Case(
        alert="KueueGpuScalerSourceStale",
        name="a quiet watch is no fault, nor a restart of the API server",
        series=own("source_up", 'source="workloads"', "1 0 0 0 1x16")
        | own("source_age_seconds", 'source="workloads"', "70x20"),
        at="15m",
    ),
    Case(
        alert="KueueGpuScalerUnknown",
        name="a trigger is in HOLD for half an hour, for one cause after the other",
        series=own("hold", f'{SO_TEXT}, reason="NoSamples"', "1x20 _x20")
        | own("hold", f'{SO_TEXT}, reason="LowCoverage"', "_x20 1x20"),
        at="35m",
        fires=(SO,),
    ),
    Case(
        alert="KueueGpuScalerUnknown",
        name="labels of the scrape do not hide whose it is",
        series=own(
            "hold",
            'namespace="gpu-scaler", exported_namespace="ml", scaled_object="so", reason="Idle"',
            "1x40",
        ),
        at="31m",
        fires=(SO,),
    ),
    Case(
        alert="KueueGpuScalerUnknown",
        name="an outage of ten minutes is over",
        series=own("hold", f'{SO_TEXT}, reason="PrometheusFailed"', "1x10 stale _x40"),
        at="45m",
    ),
    Case(
        alert="KueueGpuScalerPolicyRefused",
        name="one replica refuses the file",
        series=_both_replicas("policy_reload_ok", "0x20", "1x20"),
        at="3m",
        fires=({"namespace": "gpu-scaler", "pod": "a"},),
    ),
    Case(
        alert="KueueGpuScalerPolicyRefused",
        name="the file is in force",
        series=_both_replicas("policy_reload_ok", "1x20", "1x20"),
        at="15m",
    ),
    Case(
        alert="KueueGpuScalerMassIdleBrake",
        name="workloads are held back",
        series=own("decision_reason", f'{SO_TEXT}, status="HOLD", reason="MassIdle"', "1x20")
        | own(
            "decision_reason",
            'namespace="ml", scaled_object="other", status="HOLD", reason="MassIdle"',
            "1x20",
        ),
        at="2m",
        fires=({"namespace": "ml"},),
        value="2",
    ),
    Case(
        alert="KueueGpuScalerMassIdleBrake",
        name="other causes are no brake",
        series=own("decision_reason", f'{SO_TEXT}, status="HOLD", reason="NoSamples"', "1x20"),
        at="15m",
    ),
    Case(
        alert="KueueGpuScalerHoldBreached",
        name="the first breach of a WorkerScale comes as a new series",
        series=own("hold_breaches_total", BREACH_TEXT, "_x5 1x20"),
        at="7m",
        fires=(BREACH,),
    ),
    Case(
        alert="KueueGpuScalerHoldBreached",
        name="a further one raises it",
        series=own("hold_breaches_total", BREACH_TEXT, "1x30 2x9"),
        at="33m",
        fires=(BREACH,),
    ),
    Case(
        alert="KueueGpuScalerHoldBreached",
        name="what was breached before is over",
        series=own("hold_breaches_total", BREACH_TEXT, "1x40"),
        at="30m",
    ),
    Case(
        alert="KueueGpuScalerDemandCapped",
        name="more is needed than maxNodes for half an hour",
        series=own("decision_reason", f'{SO_TEXT}, status="OK", reason="Capped"', "1x40"),
        at="31m",
        fires=(SO,),
    ),
    Case(
        alert="KueueGpuScalerDemandCapped",
        name="a burst that ended",
        series=own("decision_reason", f'{SO_TEXT}, status="OK", reason="Capped"', "1x15 stale _x30")
        | own("decision_reason", f'{SO_TEXT}, status="OK", reason="Demand"', "_x16 1x30"),
        at="40m",
    ),
    Case(
        alert="KueueGpuScalerPoolNotGrowing",
        name="nodes are coming for an hour, and none comes",
        series=own("pool_nodes", 'pool="a100", state="new"', "2x15 0x60")
        | own("pool_nodes", 'pool="a100", state="coming"', "0x15 2x60")
        | own("pool_nodes", 'pool="a100", state="usable"', "4x75"),
        at="60m",
        fires=({"pool": "a100"},),
        value="2",
    ),
    Case(
        alert="KueueGpuScalerPoolNotGrowing",
        name="a pool that grows all the time",
        series=own("pool_nodes", 'pool="a100", state="coming"', "2x75")
        | own("pool_nodes", 'pool="a100", state="usable"', "4x10 5x10 6x10 7x10 8x10 9x10 10x10"),
        at="60m",
    ),
    Case(
        alert="KueueGpuScalerPoolNotGrowing",
        name="a pool that nothing is wanted of",
        series=own("pool_nodes", 'pool="a100", state="coming"', "0x75")
        | own("pool_nodes", 'pool="a100", state="usable"', "4x75"),
        at="60m",
    ),
    Case(
        alert="KueueGpuScalerCertificateExpires",
        name="three days are left",
        series=own("certificate_expiry_seconds", CERTIFICATE_TEXT, f"{3 * DAY + 1200}x30"),
        at="20m",
        fires=(CERTIFICATE,),
        value="3d 0h 0m 0s",
    ),
    Case(
        alert="KueueGpuScalerCertificateExpires",
        name="a month is left",
        series=own("certificate_expiry_seconds", CERTIFICATE_TEXT, f"{30 * DAY}x30"),
        at="20m",
    ),
    Case(
        alert="GpuXidError",
        name="a GPU fell off the bus, by the names of 4.8",
        series={f'DCGM_FI_DEV_XID_ERRORS{GPU}, err_code="79"}}': "79x20"},
        at="2m",
        fires=(ON_NODE,),
        value="79",
    ),
    Case(
        alert="GpuXidError",
        name="an uncorrectable ECC error, by the names of 4.9",
        series={f"DCGM_FI_DEV_XID_ERROR{GPU.replace('Hostname', 'hostname')}}}": "48x20"},
        at="2m",
        fires=(ON_NODE,),
        value="48",
    ),
    Case(
        alert="GpuXidError",
        name="a program's own fault is not the hardware's",
        series={f"DCGM_FI_DEV_XID_ERRORS{GPU}}}": "0 13 31x10 43x10"},
        at="15m",
    ),
    Case(
        alert="GpuMemoryFailing",
        name="a row could not be remapped",
        series={f"DCGM_FI_DEV_ROW_REMAP_FAILED{GPU}}}": "1x20"},
        at="3m",
        fires=(ON_NODE,),
    ),
    Case(
        alert="GpuMemoryFailing",
        name="an uncorrectable error within the hour, and a row that was not remapped",
        series={
            f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{GPU}}}": "0x10 1x20",
            f"DCGM_FI_DEV_ROW_REMAP_FAILURE{GPU}}}": "1x30",
        },
        at="14m",
        fires=(ON_NODE,),
    ),
    Case(
        alert="GpuMemoryFailing",
        name="an error of yesterday",
        series={
            f"DCGM_FI_DEV_ECC_DBE_VOL_TOTAL{GPU}}}": "0x5 1x90",
            f"DCGM_FI_DEV_ROW_REMAP_FAILURE{GPU}}}": "0x90",
        },
        at="80m",
    ),
    Case(
        alert="GpusIdleForLong",
        name="both GPUs of a workload were idle for more than four hours",
        series={
            HELD: "2x280",
            f'{BUSY_GPU} UUID="a"}}': "0x280",
            f'{BUSY_GPU} UUID="b"}}': "0x280",
        },
        at="270m",
        fires=({**TENANT, "workload": "wl", "owner": "RayCluster/ray"},),
    ),
    Case(
        alert="GpusIdleForLong",
        name="one GPU worked for a minute, two hours ago",
        series={
            HELD: "2x280",
            f'{BUSY_GPU} UUID="a"}}': "0x280",
            f'{BUSY_GPU} UUID="b"}}': "0x150 0.4 0x130",
        },
        at="270m",
    ),
    Case(
        alert="GpusIdleForLong",
        name="a workload that began two hours ago",
        series={HELD: "_x150 2x130", f'{BUSY_GPU} UUID="a"}}': "_x150 0x130"},
        at="270m",
    ),
)

_FLEET: Mapping[str, str] = {
    HELD: "2x20",
    f"{PREFIX}pod_gpus"
    '{namespace="ml", pod="lost", cluster_queue="research", cohort="all", flavor="h100"}': "4x20",
    f'{PREFIX}pod_gpus{{namespace="serving", pod="vllm", owner="ReplicaSet/vllm"}}': "1x20",
    f'{PREFIX}price_per_gpu_hour{{flavor="a100", currency="EUR"}}': "3x20",
    f'{PREFIX}price_per_gpu_hour{{model="L40S", currency="EUR"}}': "2x20",
    f'{PREFIX}price_per_gpu_hour{{currency="EUR"}}': "1x20",
    f'{BUSY_GPU} UUID="a", modelName="L40S", Hostname="n1"}}': "0.5x20",
    'DCGM_FI_DEV_GPU_UTIL{exported_namespace="ml", exported_pod="w-0", UUID="a", modelName="L40S",'
    ' Hostname="n1"}': "90x20",
    f'{BUSY_GPU} UUID="b", modelName="L40S", Hostname="n1"}}': "0x20",
    'DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO{namespace="serving", pod="vllm", UUID="c",'
    ' modelName="L40S", hostname="n2"}': "0x20",
    'DCGM_FI_DEV_GPU_UTIL_RATIO{namespace="gpu-operator", pod="exporter", UUID="free",'
    ' hostname="n2"}': "0x20",
}
_ML = '{cluster_queue="research", cohort="all", namespace="ml"}'
_ML_EUR = '{cluster_queue="research", cohort="all", currency="EUR", namespace="ml"}'
_SERVING, _SERVING_EUR = '{namespace="serving"}', '{currency="EUR", namespace="serving"}'

RECORDED: tuple[Recorded, ...] = (
    *(
        Recorded(
            expression=f"kueue_gpu_scaler:{name}",
            name=about,
            series=_FLEET,
            at="15m",
            samples=samples,
        )
        for name, about, samples in (
            ("tenant_gpus", "GPUs by tenant", {_ML: 6, _SERVING: 1}),
            ("tenant_idle_gpus", "what no sample speaks of is not idle", {_ML: 1, _SERVING: 1}),
            ("tenant_unseen_gpus", "what no sample speaks of is told", {_ML: 4, _SERVING: 0}),
            (
                "tenant_cost_per_hour",
                "flavor, else model, else any",
                {_ML_EUR: 10, _SERVING_EUR: 2},
            ),
            ("tenant_idle_cost_per_hour", "what idle GPUs cost", {_ML_EUR: 3, _SERVING_EUR: 2}),
        )
    ),
    Recorded(
        expression='kueue_gpu_scaler:gpu_mean5m{UUID="a"}',
        name="of signals that disagree the busier one counts",
        series=_FLEET,
        at="15m",
        samples={
            "kueue_gpu_scaler:gpu_mean5m"
            '{UUID="a", model="L40S", namespace="ml", node="n1", pod="w-0"}': 0.9
        },
    ),
    Recorded(
        expression='kueue_gpu_scaler:held_gpu_idle{UUID="free"}',
        name="a GPU that no pod has is nobody's",
        series=_FLEET,
        at="15m",
    ),
)
