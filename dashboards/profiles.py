"""The namings of DCGM's metrics, and queries that read each of them.

A profile's value is an expression of all its names. A query matches the names of one meaning and,
as a second matcher, the profile: of a fleet with both exporters one can look at either, or at all.
"""

from dataclasses import dataclass

TEMPERATURE = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_GPU_TEMP_CELSIUS")
POWER = ("DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_BOARD_POWER_WATTS")
XID = ("DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_XID_ERROR")
REMAP_FAILURE = ("DCGM_FI_DEV_ROW_REMAP_FAILURE", "DCGM_FI_DEV_ROW_REMAP_FAILED")
ENGINE = ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO")
TENSOR = ("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_PROF_TENSOR_UTIL_RATIO")
MEANINGS = (TEMPERATURE, POWER, XID, REMAP_FAILURE, ENGINE, TENSOR)
"""Each metric by its name up to 4.8 and from 4.9 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One naming."""

    title: str
    names: str
    """A regular expression; the separators of a custom variable are not in it."""


PROFILES = (
    Profile(title="any", names="DCGM_.+"),
    Profile(title="dcgm-4.8", names="|".join(older for older, _ in MEANINGS)),
    Profile(title="dcgm-4.9", names="|".join(newer for _, newer in MEANINGS)),
)


def device(names: tuple[str, str]) -> str:
    """Give a metric of each GPU, labelled with its node, index and UUID."""
    either = "|".join(names)
    series = f'{{__name__=~"{either}", __name__=~"${{profile:raw}}", cluster=~"$cluster"}}'
    return (
        "max by (cluster, node, gpu, UUID) (label_replace(label_replace("
        f'{series}, "node", "$1", "Hostname", "(.+)"), "node", "$1", "hostname", "(.+)"))'
    )
