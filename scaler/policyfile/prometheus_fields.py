"""The part of the table of keys that tells where samples come from and what they are called."""

from scaler.core.policy import CustomProfile, CustomSignal, PrometheusSettings
from scaler.policyfile import leaves as leaf
from scaler.policyfile.shapes import Listing, Section, Table, optional, required


def _pod_labels(*, namespace: str, pod: str) -> tuple[str, str]:
    return (namespace, pod)


CUSTOM = Section(
    build=CustomProfile,
    fields=(
        required(
            "signals",
            Listing(
                value=Section(
                    build=CustomSignal,
                    fields=(
                        required("name", leaf.TITLE, about="What evidence calls it."),
                        required("metric", leaf.METRIC, about="The metric."),
                        required(
                            "maximum",
                            leaf.POSITIVE,
                            about="Its top value: 100 for a percentage, 1 for a ratio.",
                        ),
                    ),
                ),
                least=1,
            ),
            about="Metrics of a device's activity; all of them must agree that it is idle.",
        ),
        required(
            "deviceLabel", leaf.LABEL_NAME, about="Label that names a device in the whole cluster."
        ),
        required(
            "resources",
            Listing(value=leaf.RESOURCES, least=1),
            about="Extended resources that the metrics speak of; a trailing * is any ending.",
        ),
        optional("instanceLabel", leaf.LABEL_NAME, about="Label that names a slice of a device."),
        optional(
            "podLabels",
            Listing(
                value=Section(
                    build=_pod_labels,
                    fields=(
                        required(
                            "namespace", leaf.LABEL_NAME, about="Label with the pod's namespace."
                        ),
                        required("pod", leaf.LABEL_NAME, about="Label with the pod's name."),
                    ),
                ),
                least=1,
            ),
            about="Labels that name the pod; the first pair that is there wins.",
            default=(
                {"namespace": "exported_namespace", "pod": "exported_pod"},
                {"namespace": "namespace", "pod": "pod"},
            ),
        ),
        optional(
            "modelLabel",
            leaf.LABEL_NAME,
            about="Label with the device's model, for powerVetoWatts.",
        ),
        optional("powerMetric", leaf.METRIC, about="Power in watts."),
        optional("temperatureMetric", leaf.METRIC, about="Temperature."),
        optional("energyMetric", leaf.METRIC, about="Energy, a counter."),
    ),
)

PROMETHEUS = Section(
    build=PrometheusSettings,
    fields=(
        optional(
            "url",
            leaf.URL,
            about="Address of the Prometheus API (Thanos and Mimir answer alike).",
            default="http://prometheus:9090",
        ),
        optional(
            "profile",
            leaf.PROFILE,
            about="Names and scales of the fleet's metrics; never guessed from values.",
            default="dcgm-4.8",
        ),
        optional("timeout", leaf.SPAN, about="For one query.", default="10s"),
        optional("refresh", leaf.SPAN, about="Time between two rounds of queries.", default="15s"),
        optional(
            "scrapeInterval",
            leaf.SPAN,
            about="The exporter's own; coverage is counted by it.",
            default="30s",
        ),
        optional(
            "tokenFile",
            leaf.FILE,
            about="File with a bearer token, read anew for each query.",
            default="",
        ),
        optional(
            "caFile",
            leaf.FILE,
            about="PEM file with the authorities to trust instead of the system's.",
            default="",
        ),
        optional(
            "headers",
            Table(key=leaf.HEADER_NAME, value=leaf.HEADER_VALUE),
            about="Sent with each query, as X-Scope-OrgID; values are never shown.",
            default={},
        ),
        optional(
            "selector",
            leaf.SELECTOR,
            about="Label matchers for every metric of the profile.",
            default="",
        ),
        optional(
            "custom", CUSTOM, about="The metrics of profile custom; read with that profile alone."
        ),
    ),
)
