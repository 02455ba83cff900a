# SPDX-License-Identifier: Apache-2.0
"""One P4Runtime device: a pipeline, the lock around it, and where its packets go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from offramp_base.p4rt.status import Code, RpcError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime.arbitration import Arbitration
from offramp_p4.runtime.environment import Environment, PortLinks
from offramp_p4.runtime.pipeline import Pipeline, SwitchFactory
from offramp_p4.runtime.translation import Translations

if TYPE_CHECKING:
    from offramp_base.native.cache import ObjectCache
    from offramp_p4.ir import Program
    from offramp_p4.records import Digest
    from offramp_p4.runtime.bounded import BoundedCompiler


class DeviceObserver(Protocol):
    """Another control protocol, which hears what happens; all but ``links_changed`` while no packet runs."""

    def digest(self, pipeline: Pipeline, digest: Digest) -> None:
        """The program has sent a digest."""

    def next_ns(self, pipeline: Pipeline) -> int | None:
        """Time at which :meth:`send` has something to do, in nanoseconds; None: never."""

    def send(self, pipeline: Pipeline, now_ns: int) -> None:
        """Send pending notifications to listeners."""

    def links_changed(self) -> None:
        """A port has come up or gone down."""


class P4Device:
    """A switch that control plane and data plane share.

    Args:
        device_id: P4Runtime device.
        make_switch: the switch for a program.
        cpu_port: packets that leave by it go to the controllers; None: there is no CPU port.
        translations: translations of the types with ``@p4runtime_translation``.
        compiler: compiles what controllers push within a budget; None: this process does, without one.

    Attributes:
        inject: set by the loop that moves packets; takes the controller's packets into the switch.
        to_controller, notify: set by the P4Runtime service; take each frame that left by the CPU port with its
            pipeline, and what the primaries are told about the object with an id in P4Info, as the field of
            StreamMessageResponse.
        observers: other control protocols, notified of digests, time and links.
        no_pipeline: frames dropped because no pipeline was loaded.
        start_ns: when the device was made, CLOCK_MONOTONIC.
        threads: whether threads that are not Python's run packets too; then requests of the control plane settle with
            them, before and after.
    """

    def __init__(
        self,
        device_id: int,
        make_switch: SwitchFactory,
        cpu_port: int | None = None,
        translations: Translations | None = None,
        compiler: BoundedCompiler | None = None,
    ) -> None:
        self.id = device_id
        self.environment = Environment(lambda: self.now_ns, PortLinks(), translations or Translations())
        self.cpu_port = cpu_port
        self.make_switch = make_switch
        self.compiler = compiler
        self.arbitration = Arbitration(device_id)
        self.pipeline: Pipeline | None = None
        self.saved: Pipeline | None = None
        self.inject: Callable[[PacketBatch], None] = self.discard
        self.to_controller: Callable[[Pipeline, bytes], None] = lambda _, __: None
        self.notify: Callable[[int, Mapping[str, Any]], None] = lambda _, __: None
        self.observers: list[DeviceObserver] = []
        self.no_pipeline = 0
        self._data = threading.Lock()
        self._control = threading.RLock()
        self._waiting = 0
        self.start_ns = time.monotonic_ns()
        self.threads = False

    def load(self, program: Program) -> None:
        """Run a program, outside of any controller's doing."""
        pipeline = self.make_pipeline(program)
        with self.control(), self.exclusive():
            self.pipeline = pipeline

    def make_pipeline(self, program: Program, config: Any | None = None, cache: ObjectCache | None = None) -> Pipeline:
        """A pipeline for this device, not running yet; ``cache`` is for a :attr:`make_switch` that takes one.

        Raises:
            OfframpError: the switch refuses the program, or ``config`` is not its configuration.
        """
        make = self.make_switch if cache is None else partial(self.make_switch, cache=cache)
        return Pipeline(program, make, config, self.environment)

    def process(self, batch: PacketBatch, busy: Collection[int] = ()) -> PacketBatch:
        """As :meth:`process_all`, for one batch."""
        return self.process_all((batch,), busy)

    def process_all(self, batches: Sequence[PacketBatch], busy: Collection[int] = ()) -> PacketBatch:
        """Frames in, frames out; those for the CPU port go to the controllers.

        The links of the ports ``busy`` take no more now: a traffic manager keeps their frames.
        """
        if self._waiting:
            time.sleep(0.0001)  # Python's locks are not fair: let the control plane have its turn
        with self._data:
            if self.pipeline is None:
                self.no_pipeline += sum(map(len, batches))
                return PacketBatch.empty()
            pipeline = self._begin(self.pipeline)
            hold: Callable[[Collection[int]], None] | None = getattr(pipeline.switch, "hold", None)
            if busy and hold is not None:  # only a switch with a traffic manager has it
                hold(busy)
            out = pipeline.switch.process_all(batches)
        self.send_notices()
        return self.leave(pipeline, out)

    def _begin(self, pipeline: Pipeline) -> Pipeline:
        """Tell a switch the time, and where its digests go."""
        now_ns = self.now_ns
        pipeline.switch.now_us = now_ns // 1000
        pipeline.switch.on_digest = partial(self._digested, pipeline, now_ns)
        return pipeline

    def leave(self, pipeline: Pipeline, out: PacketBatch) -> PacketBatch:
        """Give the controllers what has left by the CPU port; returns the rest."""
        if self.cpu_port is None:
            return out
        for_cpu = out.ports == self.cpu_port
        if not for_cpu.any():
            return out
        for frame in out.select(for_cpu).frames():
            self.to_controller(pipeline, frame)
        return out.select(~for_cpu)

    def settle(self) -> None:
        """Let changes, counts and digests take effect where other threads run packets."""
        with self._data:
            if self.threads and self.pipeline is not None:
                settle: Callable[[], None] | None = getattr(self._begin(self.pipeline).switch, "settle", None)
                if settle is not None:
                    settle()

    @property
    def now_ns(self) -> int:
        """Time since the device was made, nanoseconds."""
        return time.monotonic_ns() - self.start_ns

    @property
    def due_s(self) -> float | None:
        """Seconds until :meth:`process` should be called even without frames; None: the switch keeps none."""
        switch = None if self.pipeline is None else self.pipeline.switch
        next_us: int | None = getattr(switch, "next_us", None)  # only a switch with a traffic manager has it
        return None if next_us is None else max(0, next_us - self.now_ns // 1000) * 1e-6

    @property
    def notices_due_s(self) -> float | None:
        """Seconds until :meth:`send_notices` has something to do; None: nothing is waiting."""
        pipeline = self.pipeline
        if pipeline is None:
            return None
        times = [pipeline.notices_ns, *(o.next_ns(pipeline) for o in self.observers)]
        next_ns = min((time for time in times if time is not None), default=None)
        return None if next_ns is None else max(0, next_ns - self.now_ns) * 1e-9

    def send_notices(self) -> None:
        """Hand the digest lists and idle notifications that are due to the controllers."""
        if self.notices_due_s != 0:
            return
        with self._data:
            pipeline, now_ns = self.pipeline, self.now_ns
            digests = list(pipeline.digests.due(now_ns)) if pipeline is not None else []
            idle = list(pipeline.timers.due(now_ns)) if pipeline is not None else []
            if pipeline is not None:
                for observer in self.observers:
                    observer.send(pipeline, now_ns)
        for message in digests:
            self.notify(message.digest_id, {"digest": message})
        for message in idle:
            self.notify(message.table_entry[0].table_id, {"idle_timeout_notification": message})

    def set_links(self, up: Mapping[int, bool]) -> None:
        """Take in which ports there are, and whether the link of each is up."""
        with self.exclusive():
            if self.environment.links.set(up):
                for pipeline in (self.pipeline, self.saved):
                    if pipeline is not None:
                        pipeline.links_changed()
                for observer in self.observers:
                    observer.links_changed()

    def _digested(self, pipeline: Pipeline, now_ns: int, digest: Digest) -> None:
        pipeline.digests.collect(digest, now_ns)
        for observer in self.observers:
            observer.digest(pipeline, digest)

    def discard(self, batch: PacketBatch) -> None:
        """Discard packets, while no forwarder runs."""
        self.no_pipeline += len(batch)

    @contextmanager
    def control(self) -> Iterator[None]:
        """Serialise the requests of the control plane."""
        with self._control:
            if self.threads:
                self.settle()
            yield
            if self.threads:
                self.settle()

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep the data plane out for a short piece of work on the state."""
        self._waiting += 1
        try:
            with self._data:
                yield
        finally:
            self._waiting -= 1


def check_device(device: P4Device, device_id: int) -> None:
    """Check that a request is for this device.

    Raises:
        RpcError: NOT_FOUND.
    """
    if device_id != device.id:
        raise RpcError(Code.NOT_FOUND, f"no device {device_id}; this switch is device {device.id}")
