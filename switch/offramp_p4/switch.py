# SPDX-License-Identifier: Apache-2.0
"""A P4 switch in this process: packets in, packets out, and state for a control plane."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.architecture import PNA, PSA, TNA, V1MODEL, Architecture, architecture_of
from offramp_p4.engine.generator import Generator
from offramp_p4.limits import MAX_STATE_BYTES, MAX_STEPS, check_limits
from offramp_p4.plain import PlainSwitch
from offramp_p4.portable.pna import PnaPipeline
from offramp_p4.portable.psa import PsaPipeline
from offramp_p4.records import Digest, SwitchStats
from offramp_p4.source import Unsupported
from offramp_p4.tna.pipeline import TnaPipeline
from offramp_p4.v1model.pipeline import V1Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from offramp_p4 import ir
    from offramp_p4.debugging import EngineDebugger
    from offramp_p4.tm import TmConfig
    from offramp_p4.tm.joint import Joint, Mark
    from offramp_p4.tm.stages import Deliver, SwitchStages
    from offramp_p4.trace.model import PacketTrace
    from offramp_p4.trace.recorder import Recorder

__all__ = ["Digest", "Switch", "SwitchStats"]

Pipeline = V1Pipeline | TnaPipeline | PsaPipeline | PnaPipeline
_PIPELINES: Final[dict[Architecture, Callable[..., Pipeline]]] = {
    V1MODEL: V1Pipeline,
    TNA: TnaPipeline,
    PSA: PsaPipeline,
    PNA: PnaPipeline,
}


class Switch(PlainSwitch):
    """Executes a P4 program packet by packet: v1model as bmv2's simple_switch, TNA as a Tofino, PSA, and PNA.

    A packet runs to completion with all its copies and passes before the next one starts, so outputs are in a
    fixed order. Time is virtual: ``now_us`` is what timestamps show and meters see.

    A packet whose copies together take more than ``max_passes`` passes or ``max_steps`` steps
    (:data:`~offramp_p4.limits.MAX_STEPS`) is dropped there and counted.

    With ``trace``, which gets the trace of each packet when all its copies have left, or a ``debugger``, other code is
    generated: a switch without does nothing for the sake of either.

    Raises:
        OfframpError: the program uses what this switch does not execute, its arrays take more than ``max_state``
            bytes, or ``max_passes`` or ``max_steps`` is not a count.
    """

    engine: ClassVar[str] = "python"

    def __init__(
        self,
        program: ir.Program,
        *,
        seed: int = 0,
        cpu_port: int | None = None,
        drop_port: int = 511,
        max_passes: int = 10_000,
        max_steps: int = MAX_STEPS,
        max_state: int = MAX_STATE_BYTES,
        trace: Callable[[PacketTrace], object] | None = None,
        debugger: EngineDebugger | None = None,
        recirculation_ports: Iterable[int] = (),
        host_ports: Iterable[int] = (),
    ) -> None:
        if trace is not None and debugger is not None:
            raise OfframpError("traces are of a switch without a debugger")
        check_limits(program, max_passes=max_passes, max_steps=max_steps, max_state=max_state)
        super().__init__(program, cpu_port)
        architecture = architecture_of(program)
        settings: dict[str, Any] = {
            "cpu_port": cpu_port,
            "drop_port": drop_port,
            "recirculation_ports": recirculation_ports,
            "host_ports": host_ports,
        }
        if debugger is not None:
            debugger.loading()
        self._pipeline = _pipeline(program, architecture, trace)(
            program,
            seed=seed,
            max_passes=max_passes,
            max_steps=max_steps,
            clock=lambda: self.now_us,
            generator=Generator if debugger is None else debugger.generator,
            **{name: value for name, value in settings.items() if name in architecture.options},
        )
        objects = self._objects = self._pipeline.objects
        self._show(objects)
        run = self._pipeline.run
        self._run = run if debugger is None else debugger.packets(run)
        if debugger is not None:
            debugger.loaded(self, getattr(self._pipeline, "dropped", None))

    @property
    def recorder(self) -> Recorder | None:
        """The sink for traces of packets; None without traces."""
        return getattr(self._pipeline, "recorder", None)

    @property
    def stats(self) -> SwitchStats:
        """Counts since the start or the last reset."""
        return self._pipeline.stats

    @property
    def on_digest(self) -> Callable[[Digest], None] | None:
        """Called with each digest that the program sends."""
        return self._pipeline.on_digest

    @on_digest.setter
    def on_digest(self, receiver: Callable[[Digest], None] | None) -> None:
        self._pipeline.on_digest = receiver

    @property
    def source(self) -> str:
        """The Python text that the program has been compiled to."""
        return self._pipeline.source

    def run_batch(self, batch: PacketBatch) -> PacketBatch:
        """Run a batch without packets of the packet generator."""
        out: list[tuple[int, bytes]] = []
        emit, run = out.append, self._run
        width = batch.data.shape[1] if len(batch) else 0
        raw = batch.data.tobytes()
        at = 0
        for port, length in zip(batch.ports.tolist(), batch.lengths.tolist(), strict=True):
            run(port, raw[at : at + length], emit)
            at += width
        return PacketBatch.of(out)

    def process_one(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Run one packet to completion; returns (port, frame) of each packet that leaves."""
        if self.generator is not None and self.generator.active:
            return list(self.process(PacketBatch.of([(port, bytes(frame))])))
        out: list[tuple[int, bytes]] = []
        self._run(port, bytes(frame), out.append)
        return out

    def split(self, hold: Deliver) -> SwitchStages:
        """Part ingress from egress for a traffic manager: each copy that is bound for a port goes to ``hold``."""
        return self._pipeline.split(hold)

    def join(self, config: TmConfig, mark: Mark) -> Joint:
        """Put a traffic manager between ingress and egress; for :class:`~offramp_p4.queued.QueuedSwitch`."""
        from offramp_p4.joint import PythonJoint

        return PythonJoint(self, config, mark)

    def reset(self) -> None:
        """Tables, registers, counters, meters, replication and counts as when the program was loaded."""
        self._objects.reset()
        self._pipeline.stats = SwitchStats()


def _pipeline(
    program: ir.Program, architecture: Architecture, trace: Callable[[PacketTrace], object] | None
) -> Callable[..., Pipeline]:
    if trace is None:
        return _PIPELINES[architecture]
    if not architecture.traced:
        raise Unsupported(program.main.pos, f"tracing of {program.main.type_name} programs")
    return partial(_traced(architecture), sink=trace)


def _traced(architecture: Architecture) -> Callable[..., Pipeline]:
    """The pipeline that traces programs of an architecture."""
    from offramp_p4.trace.pipeline import TracedPipeline
    from offramp_p4.trace.portable import TracedPna, TracedPsa
    from offramp_p4.trace.tna import TracedTnaPipeline

    traced: dict[Architecture, Callable[..., Pipeline]] = {
        V1MODEL: TracedPipeline,
        PSA: TracedPsa,
        PNA: TracedPna,
        TNA: TracedTnaPipeline,
    }
    return traced[architecture]
