"""KEDA: a loop of its own for each ScaledObject, with connections shared by address."""

import threading
from collections import Counter
from collections.abc import Callable

import grpc

from scaler.core.model import Kind, Name
from scaler.sim.clock import Clock
from scaler.sim.objects import Objects
from scaler.sim.scale_loop import ScaleLoop, Version
from scaler.sim.scaledobject import Spec, read
from scaler.sim.trigger_calls import CHANNEL_OPTIONS, TriggerCalls
from scaler.sim.trigger_streams import Stream, streams_of

FIRST_GAP = 1.0
LONGEST_GAP = 1000.0
EXTERNAL = ("external", "external-push")


class Keda:
    """Follow the ScaledObjects; each has a thread for polls, one for its HPA, two per push."""

    def __init__(self, *, objects: Objects, clock: Clock, version: Version | None = None) -> None:
        self._objects = objects
        self._clock = clock
        self._version = version or Version()
        self._running: dict[Name, _Running] = {}
        self._channels: dict[str, grpc.Channel] = {}

    def step(self) -> None:
        """Start, restart and end loops as the ScaledObjects ask for it."""
        wanted = {spec.name: spec for spec in map(read, self._objects.all(Kind.SCALED_OBJECTS))}
        for name, running in list(self._running.items()):
            if wanted.get(name) != running.loop.spec:
                self._running.pop(name).end(paused=name not in wanted or wanted[name].paused)
        for name in wanted.keys() - self._running.keys():
            self._running[name] = self._begin(wanted[name])

    def stop(self) -> None:
        """End all loops and close the connections; the clock is to be stopped first."""
        for running in self._running.values():
            running.end(paused=False)
        for channel in self._channels.values():
            channel.close()
        for running in self._running.values():
            running.join()

    def _begin(self, spec: Spec) -> "_Running":
        calls = [
            TriggerCalls(spec=spec, index=index, channel=self._channel(trigger))
            for index, trigger in enumerate(spec.triggers)
            if trigger["type"] in EXTERNAL
        ]
        loop = ScaleLoop(
            objects=self._objects, clock=self._clock, spec=spec, calls=calls, version=self._version
        )
        running = _Running(loop=loop, clock=self._clock, sync=self._version.sync, alone=self._alone)
        running.start()
        return running

    def _channel(self, trigger: dict[str, dict[str, str]]) -> grpc.Channel:
        address = trigger["metadata"]["scalerAddress"]
        if address not in self._channels:
            self._channels[address] = grpc.insecure_channel(address, options=CHANNEL_OPTIONS)
        return self._channels[address]

    def _alone(self, address: str) -> bool:
        used = Counter(a for r in list(self._running.values()) for a in r.addresses)
        return used[address] <= 1


class _Running:
    """The threads of one ScaledObject."""

    def __init__(
        self, *, loop: ScaleLoop, clock: Clock, sync: float, alone: Callable[[str], bool]
    ) -> None:
        self.loop = loop
        self.addresses = {calls.address for calls in loop.calls}
        self._clock = clock
        self._sync = sync
        self._alone = alone
        self._ended = False
        self._streams: dict[str, tuple[Stream, ...]] = {}
        name = "/".join(loop.spec.name)
        self._threads = [threading.Thread(target=self._run, name=f"sim-keda {name}", daemon=True)]

    def start(self) -> None:
        """Create the HPA, then poll for ever."""
        self._threads[0].start()

    def end(self, *, paused: bool) -> None:
        """Leave the target as it is; a pause and a deletion take the HPA away."""
        self._ended = True
        for streams in list(self._streams.values()):
            for stream in streams:
                stream.end()
        if paused:
            self.loop.remove_hpa()

    def join(self) -> None:
        """Wait for the threads; one in a call that hangs is left behind."""
        for thread in self._threads:
            thread.join(timeout=2)

    def _run(self) -> None:
        if self.loop.spec.paused:
            if self.loop.spec.paused_replicas is not None:
                self.loop.hold_at(self.loop.spec.paused_replicas)
            return
        gap = FIRST_GAP
        while not self.loop.create():
            if not self._sleep(gap):
                return
            gap = min(LONGEST_GAP, gap * 2)
        self._follow_pushes()
        syncs = threading.Thread(target=self._sync_on, name="sim-hpa", daemon=True)
        self._threads.append(syncs)
        syncs.start()
        self._poll_on()

    def _follow_pushes(self) -> None:
        for calls in self.loop.calls:
            streams = streams_of(calls, clock=self._clock, on_active=self.loop.pushed)
            self._streams[calls.address] = self._streams.get(calls.address, ()) + streams
            for stream in streams:
                stream.start()

    def _poll_on(self) -> None:
        while not self._ended:
            before = self.loop.failed_polls
            self.loop.poll()
            if self.loop.failed_polls > before:
                self._cut_streams()
            if not self._sleep(self.loop.spec.polling_interval):
                return

    def _cut_streams(self) -> None:
        """Drop the connection of a failed poll: nobody else on the address keeps it alive."""
        for address, streams in self._streams.items():
            if self._alone(address):
                for stream in streams:
                    stream.cut()

    def _sync_on(self) -> None:
        while self._sleep(self._sync):
            self.loop.sync_hpa()

    def _sleep(self, seconds: float) -> bool:
        awake = self._clock.sleep_until(self._clock.now() + seconds)
        return awake and not self._ended
