"""What GPUs are told to do: by pod, by one GPU of a pod, for a while or for one scrape."""

import threading
from dataclasses import dataclass, field

from tests.e2e.devices import Holder


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How busy the GPUs of some pods are."""

    namespace: str
    prefix: str
    """Of the pods' names."""
    gpu: int | None = None
    """Which GPU of each pod, from 0; None = all."""
    percent: float

    def fits(self, holder: Holder) -> bool:
        """Say whether it speaks of a held GPU."""
        return (
            self.namespace == holder.namespace
            and holder.pod.startswith(self.prefix)
            and self.gpu in (None, holder.ordinal)
        )

    def covers(self, other: "Rule") -> bool:
        """Say whether it speaks of every GPU that another does."""
        return (
            self.namespace == other.namespace
            and other.prefix.startswith(self.prefix)
            and self.gpu in (None, other.gpu)
        )


@dataclass(frozen=True, slots=True)
class Burst:
    """Activity that one scrape sees."""

    rule: Rule
    seen: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True)
class Script:
    """The rules in force; the latest that fits a GPU holds, and without one it is idle."""

    rules: list[Rule] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)

    def add(self, rule: Rule) -> None:
        """Let a rule hold from now on, instead of those that it covers."""
        self.rules = [each for each in self.rules if not rule.covers(each)] + [rule]

    def percent(self, holder: Holder) -> float:
        """Give how busy a held GPU is, its bursts left out."""
        fitting = (rule.percent for rule in reversed(self.rules) if rule.fits(holder))
        return next(fitting, 0.0)

    def burst(self, holder: Holder) -> Burst | None:
        """Take the burst that waits for a GPU to be scraped, if there is one."""
        found = next((each for each in self.bursts if each.rule.fits(holder)), None)
        if found:
            self.bursts.remove(found)
        return found
