# SPDX-License-Identifier: Apache-2.0
"""A P4 switch whose program runs as machine code, with the interface of :class:`offramp_p4.switch.Switch`."""

from __future__ import annotations

import ctypes
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError
from offramp_base.native.arrays import address
from offramp_base.wire.batch import PacketBatch
from offramp_p4.limits import MAX_STATE_BYTES, MAX_STEPS, check_limits
from offramp_p4.native.architecture import (
    GATHER,
    LOGGED,
    RUN,
    PacketMode,
    SwitchProperties,
    architecture,
    build,
    translated,
)
from offramp_p4.native.code import ProgramCode
from offramp_p4.native.lock import PacketLock, nothing
from offramp_p4.native.log_lines import LogLines
from offramp_p4.native.outline import OutlineReader
from offramp_p4.native.records import CHECK_MARK, read_records
from offramp_p4.native.runtime import context as at
from offramp_p4.native.state.context import SwitchContext
from offramp_p4.native.state.tables import NativeTable
from offramp_p4.optimising import OptimiseWhen
from offramp_p4.plain import PlainSwitch
from offramp_p4.records import Digest, SwitchStats
from offramp_p4.trace.bmv2_lines import LEVELS

if TYPE_CHECKING:
    from offramp_base.native.cache import ObjectCache
    from offramp_base.native.compiler import MachineCode
    from offramp_p4 import ir
    from offramp_p4.native.cores import Cores
    from offramp_p4.native.records import RecordFormat
    from offramp_p4.state import TableEntry, TableState
    from offramp_p4.tm import TmConfig
    from offramp_p4.tm.joint import Joint, Mark
    from offramp_p4.trace.model import PacketTrace

_Array = npt.NDArray[Any]

# The loggers of the engine, so that both engines are heard in the same place.
# Words that are written for each packet that comes alone: plain numbers, which index an array quicker.
_NOW_US: Final = int(at.SwitchMemory.now_us)
_LOGGING: Final = int(at.SwitchMemory.logging)
_MESSAGES: Final = logging.getLogger("offramp_p4.v1model.target")
_FAILURES: Final = logging.getLogger("offramp_p4.v1model.pipeline")
_STATS: Final = [f.name for f in fields(SwitchStats)]


class NativeSwitch(PlainSwitch):
    """Executes a program in machine code, packet for packet like :class:`offramp_p4.switch.Switch`.

    Digests and log messages are delivered when :meth:`process` has run all packets of its batch, and the control
    plane's changes take effect between batches. Clones of clones nested more than some ninety deep count as
    looped. The GIL is released while packets run.

    Attributes:
        cache: cache of its machine code; None: the user's.
        queued: make code for :meth:`join` at once, and that for :meth:`process` when it is first called.
        log: takes lines of what packets do, in bmv2's words, after each batch, as bytes that are its own until it
            returns; v1model only.
        log_levels: letters of the levels whose lines it takes.
        outline: takes an outline of the trace of each packet, after each batch; v1model only, and not with a ``log``.
            While its ``listened()``, if it has such a method, says no, packets run as without it.
        optimise: when its machine code is optimised.

    Raises:
        Unsupported: the program uses what this engine does not execute.
        OfframpError: its arrays take more than ``max_state`` bytes, or ``max_passes`` or ``max_steps`` is not a count.
    """

    engine: ClassVar[str] = "native"

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
        recirculation_ports: Iterable[int] = (),
        host_ports: Iterable[int] = (),
        cache: ObjectCache | None = None,
        queued: bool = False,
        log: Callable[[memoryview], object] | None = None,
        log_levels: str = LEVELS,
        outline: Callable[[PacketTrace], object] | None = None,
        optimise: OptimiseWhen = OptimiseWhen.AT_ONCE,
    ) -> None:
        check_limits(program, max_passes=max_passes, max_steps=max_steps, max_state=max_state)
        super().__init__(program, cpu_port)
        self.on_digest: Callable[[Digest], None] | None = None
        self._stats, self._unsettled = SwitchStats(), False
        objects = self._objects = architecture(program).objects(program)
        self._log_to, self._log_levels = log, log_levels
        self._log: LogLines | None = None
        self._outlines = None if outline is None else OutlineReader(program, self._entry, outline)
        self._events: Sequence[RecordFormat] = ()
        way = self._way = self._logged(PacketMode.QUEUED if queued else PacketMode.BATCH)
        try:
            self._module = build(program, objects, way)
        except RecursionError:
            raise OfframpError(f"{program.file}: the program nests its expressions or statements too deeply") from None
        self._events = self._module.events
        self._code = ProgramCode(program, objects, cache, optimise)
        size, memory_size = self._module.plan.size, self._module.memory_size
        self._context = SwitchContext(
            size, memory_size, seed=seed, drop_port=drop_port, max_passes=max_passes, max_steps=max_steps
        )
        chip = SwitchProperties(seed, cpu_port, tuple(recirculation_ports), tuple(host_ports))
        objects.attach(self._context, self._module.plan, chip)
        self._code.of(way)
        self._code.bind(self._take_functions)
        self._lock = PacketLock()
        self._cores: Cores | None = None
        objects.changes.serve(self._lock, self._show_changes)
        self._unsent: list[Digest] = []
        self._show(objects)

    def code(self, way: PacketMode) -> MachineCode:
        """The program in machine code for one way of packets, made when it is first asked for."""
        return self._code.of(self._logged(way))

    def bind(self, take_functions: Callable[[], None]) -> None:
        """Have a method take its functions from :meth:`code`: now, and whenever code has been replaced."""
        self._code.bind(take_functions)

    def optimise(self) -> None:
        """Have optimised machine code from now on, where LLVM can make it."""
        with self._lock:
            self._code.optimise()

    def _take_functions(self) -> None:
        self._gather = self._code.of(self._way).function(GATHER, None, *[ctypes.c_int64] * 5)
        for name in ("_run", "_run_outlined"):
            self.__dict__.pop(name, None)

    def _logged(self, way: PacketMode) -> PacketMode:
        return way if self._log_to is None else LOGGED.get(way, way)

    def _entry(self, table: str, number: int) -> TableEntry | None:
        state = self._tables[table]
        assert isinstance(state, NativeTable)
        return state.entry(number)

    @cached_property
    def _run(self) -> Callable[..., int]:
        return _batch_function(self.code(PacketMode.BATCH))

    @cached_property
    def _run_outlined(self) -> Callable[..., int]:
        return _batch_function(self.code(PacketMode.OUTLINED_BATCH))

    def _choose(self, outlines: OutlineReader, count: int) -> Callable[..., int]:
        """The function for a batch of ``count`` packets: with outlines, if somebody wants them now."""
        wanted = outlines.takes(count)
        way = PacketMode.OUTLINED_BATCH if wanted else self._way
        self._events = build(self.program, self._objects, way).events
        return self._run_outlined if wanted else self._run

    @property
    def source(self) -> str:
        """The LLVM assembly that the program has been translated to."""
        return self._module.text or translated(self.program, self._objects, self._way).text

    def process_all(self, batches: Sequence[PacketBatch]) -> PacketBatch:
        """Run the packets of several batches where they lie."""
        if self.generator is not None and self.generator.active:
            return super().process_all(batches)
        return self._run_all(batches)

    def run_batch(self, batch: PacketBatch) -> PacketBatch:
        """Run a batch without packets of the packet generator."""
        return self._run_all((batch,))

    def _run_all(self, batches: Sequence[PacketBatch]) -> PacketBatch:
        rows, lengths, ports = self._arrays(batches)
        length_at, port_at = address(lengths), address(ports)
        with self._running():
            run = self._run if self._outlines is None else self._choose(self._outlines, len(lengths))
            for data in rows:
                if count := len(data):
                    run(self._context.pointer, address(data), data.strides[0], length_at, port_at, count)
                    length_at, port_at = length_at + count * lengths.itemsize, port_at + count * ports.itemsize
            out = self._outputs()
        self._send_digests()
        return out

    def process_one(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Run one packet to completion; returns (port, frame) of each packet that leaves."""
        data = np.frombuffer(bytearray(frame), np.uint8).reshape(1, len(frame))
        return list(self.process(PacketBatch(np.array([port]), np.array([len(frame)]), data)))

    def join(self, config: TmConfig, mark: Mark) -> Joint:
        """Put a traffic manager between ingress and egress; for :class:`~offramp_p4.queued.QueuedSwitch`."""
        from offramp_p4.native.joint import NativeJoint

        return NativeJoint(self, config, mark)

    def spread(self, count: int, pause: Callable[[], object], resume: Callable[[], object]) -> Cores:
        """Contexts for threads that run packets on ``count`` cores, between a ``resume`` and the next ``pause``.

        This object may still be used as before. :meth:`settle` is to be called from time to time: then the control
        plane's changes, the threads' counts and digests take effect.
        """
        from offramp_p4.native.cores import Cores

        cores = Cores(self, count)
        self._lock.pause, self._lock.resume = pause, resume
        with self._lock:
            self._cores = cores
            self._prepare()
        return cores

    def settle(self) -> None:
        """Give other threads the changed state, and take over their counts and sent packets."""
        with self._running():
            pass
        self._send_digests()

    def gather_cores(self) -> None:
        """Take over the counts of other threads, which run no packets of this switch any more."""
        with self._lock:
            self._collect()
            self._cores = None
            self._lock.pause = self._lock.resume = nothing

    def reset(self) -> None:
        """Reset tables, registers, counters, meters, replication and counts to their state after loading."""
        with self._lock:
            self._collect()
            self._objects.reset()
            self._stats = SwitchStats()

    def _outputs(self) -> PacketBatch:
        """The frames in the output buffer, as a batch."""
        index = self._context.buffer(at.SwitchMemory.index).view(np.int64).reshape(-1, 2)
        count = len(index)
        if not count:
            return PacketBatch.empty()
        ports, lengths = index.astype(np.int32).T.copy()
        width = int(lengths.max())
        if self._context.words[at.SwitchMemory.out.used] == count * width:
            data = self._context.take(at.SwitchMemory.out).reshape(count, width)
        else:
            data = np.empty((count, width), np.uint8)
            self._gather(
                address(data), width, address(self._context.buffer(at.SwitchMemory.out)), address(index), count
            )
            self._context.empty(at.SwitchMemory.out)
        self._context.empty(at.SwitchMemory.index)
        return PacketBatch(ports, lengths, data)

    @property
    def stats(self) -> SwitchStats:
        """Counts since the start or the last reset."""
        self._settle()
        return self._stats

    @property
    def tables(self) -> dict[str, TableState]:
        """State by control-plane name."""
        self._settle()
        return self._tables

    def _settle(self) -> None:
        """Bring the counts of packets that came one by one up to date."""
        if self._unsettled or self._cores is not None:
            with self._lock:
                self._collect()

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Machine code runs within the context, in one thread at a time; state is prepared before, collected after."""
        self._objects.changes.give_way()
        with self._lock:
            self._prepare()
            yield
            self._collect()

    def _prepare(self) -> None:
        """Give machine code the changed state, and the time."""
        words = self._context.words
        words[_NOW_US] = self.now_us
        words[_LOGGING] = _MESSAGES.isEnabledFor(logging.INFO)
        if self._code.baseline:
            self._code.replace(self._stats.passes + int(words[at.SwitchMemory.passes]))
        self._show_changes()

    def _show_changes(self) -> None:
        if (self._unsettled or self._cores is not None) and self._objects.changed:
            self._collect()  # counts are by the numbers that entries still have
        self._objects.sync()
        if self._cores is not None:
            self._cores.show()

    def _arrays(self, batches: Sequence[PacketBatch]) -> tuple[list[_Array], _Array, _Array]:
        """The frames of each batch, and the lengths and ports of all, as machine code reads them.

        Rows may lie apart, as in the ring of an interface.
        """
        rows = [_rows(batch) for batch in batches]
        lengths = _joined([batch.lengths for batch in batches])
        ports = _joined([batch.ports for batch in batches])
        if len(lengths):
            widths = np.repeat([data.shape[1] for data in rows], [len(data) for data in rows])
            if int(lengths.min()) < 0 or (lengths > widths).any():
                raise OfframpError(f"packet batch: a length is outside 0..{int(widths.max())}, the bytes of its row")
        self._objects.check_ports(ports)
        return rows, lengths, ports

    def _read_digests(self, context: SwitchContext) -> None:
        used = context.words[at.SwitchMemory.digests.start]
        if not used:
            return
        raw = context.buffer(at.SwitchMemory.digests)[:used].tobytes()
        context.empty(at.SwitchMemory.digests)
        if self.on_digest is not None:
            self._unsent += [Digest(kind.text, values) for kind, values in read_records(self._module.digests, raw)]

    def _send_digests(self) -> None:
        """Hand over the digests that have been read, with no lock held."""
        if self._unsent:
            digests, self._unsent = self._unsent, []
            for digest in digests:
                if self.on_digest is not None:
                    self.on_digest(digest)

    def _collect(self) -> None:
        """Collect counts, digests, log messages and failed checks of the packets that have just run."""
        self._unsettled = False
        contexts = [self._context]
        if self._cores is not None:
            self._cores.collect()
            contexts = self._cores.contexts
        words = self._context.words
        counts = words[slice(*at.STATS)]
        for name, count in zip(_STATS, counts.tolist(), strict=True):
            if count:
                setattr(self._stats, name, getattr(self._stats, name) + count)
        counts[:] = 0
        self._objects.collect()
        for context in contexts:
            self._read_digests(context)
            if context.words[at.SwitchMemory.events.used]:
                self._read_events(context)

    def _read_events(self, context: SwitchContext) -> None:
        raw = context.buffer(at.SwitchMemory.events)
        if self._log_to is None:
            records = read_records(self._events, raw.tobytes())
            if self._outlines is not None:
                records = iter(self._outlines.read(records))
        else:
            if self._log is None:
                self._log = LogLines(self._log_to, self._module.events, self._log_levels)
            records = iter(self._log.read(raw))
        context.empty(at.SwitchMemory.events)
        for kind, values in records:
            if kind.text.startswith(CHECK_MARK):
                _FAILURES.error("%s: packet dropped", kind.text.removeprefix(CHECK_MARK))
            else:
                _MESSAGES.info("%s", _filled(kind.text, values))


def _batch_function(code: MachineCode) -> Callable[..., int]:
    run: Callable[..., int] = code.function(RUN, ctypes.c_int64, *[ctypes.c_int64] * 6)
    return run


def _rows(batch: PacketBatch) -> _Array:
    data = batch.data
    if not len(data) == len(batch.lengths) == len(batch.ports):
        raise OfframpError(f"packet batch: {len(data)} rows, {len(batch.lengths)} lengths and {len(batch.ports)} ports")
    if data.dtype != np.uint8 or data.strides[1] != 1 or data.strides[0] < data.shape[1]:
        return np.ascontiguousarray(data, np.uint8)
    return data


def _joined(arrays: list[_Array]) -> _Array:
    return np.concatenate(arrays, dtype=np.int32, casting="unsafe") if arrays else np.zeros(0, np.int32)


def _filled(message: str, values: Iterable[int]) -> str:
    """Each ``{}`` of a message replaced by the next value."""
    left = iter(values)
    return re.sub(r"\{[^}]*\}", lambda hole: str(next(left, hole.group())), message)
