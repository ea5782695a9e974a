"""A small PromQL: what the fleet queries and simple query templates need, and nothing else.

What it knows it answers as Prometheus does, to the last digit; what it does not know is a
PromQLError, never a guess.
"""

from scaler.sim.promql.evaluate import Engine, evaluate
from scaler.sim.promql.labels import Labels, labels_of
from scaler.sim.promql.series import Samples, Series
from scaler.sim.promql.syntax import PromQLError

__all__ = ["Engine", "Labels", "PromQLError", "Samples", "Series", "evaluate", "labels_of"]
