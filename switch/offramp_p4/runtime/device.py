# SPDX-License-Identifier: Apache-2.0
"""One P4Runtime device: a pipeline, the lock around it, and where its packets go."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from offramp_base.p4rt.status import Code, RpcError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.runtime.arbitration import Arbitration
from offramp_p4.runtime.environment import Environment, Links
from offramp_p4.runtime.pipeline import Pipeline, SwitchFactory
from offramp_p4.runtime.translation import Translations

if TYPE_CHECKING:
    from offramp_base.native.cache import ObjectCache
    from offramp_p4.ir import Program
    from offramp_p4.runtime.bounded import BoundedCompiler


class Device:
    """A switch that control plane and data plane share.

    Args:
        device_id: P4Runtime device.
        make_switch: the switch for a program.
        cpu_port: packets that leave by it go to the controllers; None: there is no CPU port.
        translations: of the types with ``@p4runtime_translation``.
        compiler: compiles what controllers push within a budget; None: this process does, without one.

    Attributes:
        inject: set by whoever moves packets; takes what the controller sends into the switch.
        to_controller, notify: set by the P4Runtime service; take each frame that left by the CPU port with its
            pipeline, and what the primaries are told about the object with an id in P4Info, as the field of
            StreamMessageResponse.
        no_pipeline: frames dropped because no pipeline was loaded.
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
        self.environment = Environment(lambda: self.now_ns, Links(), translations or Translations())
        self.cpu_port = cpu_port
        self.make_switch = make_switch
        self.compiler = compiler
        self.arbitration = Arbitration(device_id)
        self.pipeline: Pipeline | None = None
        self.saved: Pipeline | None = None
        self.inject: Callable[[PacketBatch], None] = self.discard
        self.to_controller: Callable[[Pipeline, bytes], None] = lambda _, __: None
        self.notify: Callable[[int, Mapping[str, Any]], None] = lambda _, __: None
        self.no_pipeline = 0
        self._data = threading.Lock()
        self._control = threading.RLock()
        self._waiting = 0
        self._start_ns = time.monotonic_ns()

    def load(self, program: Program) -> None:
        """Run a program, outside of any controller's doing."""
        pipeline = self.make_pipeline(program)
        with self.control(), self.exclusive():
            self.pipeline = pipeline

    def make_pipeline(self, program: Program, given: Any | None = None, cache: ObjectCache | None = None) -> Pipeline:
        """A pipeline for this device, not running yet; ``cache`` is for a :attr:`make_switch` that takes one.

        Raises:
            OfframpError: the switch refuses the program, or ``given`` is not its configuration.
        """
        make = self.make_switch if cache is None else partial(self.make_switch, cache=cache)
        return Pipeline(program, make, given, self.environment)

    def process(self, batch: PacketBatch) -> PacketBatch:
        """Frames in, frames out; those for the CPU port go to the controllers."""
        if self._waiting:
            time.sleep(0.0001)  # Python's locks are not fair: let the control plane have its turn
        with self._data:
            if self.pipeline is None:
                self.no_pipeline += len(batch)
                return PacketBatch.empty()
            pipeline = self.pipeline
            now_ns = self.now_ns
            pipeline.switch.now_us = now_ns // 1000
            pipeline.switch.on_digest = lambda digest: pipeline.digests.collect(digest, now_ns)
            out = pipeline.switch.process(batch)
        self.send_notices()
        if self.cpu_port is None:
            return out
        for_cpu = out.ports == self.cpu_port
        if not for_cpu.any():
            return out
        for frame in out.select(for_cpu).frames():
            self.to_controller(pipeline, frame)
        return out.select(~for_cpu)

    @property
    def now_ns(self) -> int:
        """Time since the device was made, nanoseconds."""
        return time.monotonic_ns() - self._start_ns

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
        next_ns = None if pipeline is None else pipeline.notices_ns
        return None if next_ns is None else max(0, next_ns - self.now_ns) * 1e-9

    def send_notices(self) -> None:
        """Hand the digest lists and idle notifications that are due to the controllers."""
        if self.notices_due_s != 0:
            return
        with self._data:
            pipeline, now_ns = self.pipeline, self.now_ns
            digests = list(pipeline.digests.due(now_ns)) if pipeline is not None else []
            idle = list(pipeline.timers.due(now_ns)) if pipeline is not None else []
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

    def discard(self, batch: PacketBatch) -> None:
        """Where packets go while nobody moves any."""
        self.no_pipeline += len(batch)

    @contextmanager
    def control(self) -> Iterator[None]:
        """Serialise the requests of the control plane."""
        with self._control:
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Keep the data plane out for a short piece of work on the state."""
        self._waiting += 1
        try:
            with self._data:
                yield
        finally:
            self._waiting -= 1


def check_device(device: Device, device_id: int) -> None:
    """Whether a request is for this device.

    Raises:
        RpcError: NOT_FOUND.
    """
    if device_id != device.id:
        raise RpcError(Code.NOT_FOUND, f"no device {device_id}; this switch is device {device.id}")
