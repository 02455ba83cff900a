# SPDX-License-Identifier: Apache-2.0
"""A recipe for switches, shared by this process and the process that first tries a pushed program."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Self

from offramp_base.errors import OfframpError
from offramp_p4.limits import MAX_STATE_BYTES, MAX_STEPS
from offramp_p4.optimising import OptimiseWhen

if TYPE_CHECKING:
    from offramp_base.native.cache import ObjectCache
    from offramp_p4 import AnySwitch
    from offramp_p4.debugging import EngineDebugger
    from offramp_p4.ir import Program
    from offramp_p4.tm import TmConfig
    from offramp_p4.trace.model import PacketTrace

_HERE_ONLY: Final = ("trace", "debugger", "tm")
_ALONE: Final = ("lines_alone", "outlines_alone")
"""What a sink of traces may want alone."""
_OF_QUEUES: Final = {"enq_timestamp", "enq_qdepth", "deq_timedelta", "deq_qdepth", "priority"}
_LOG = logging.getLogger(__name__)


def reads_queues(program: Program) -> bool:
    """Whether a program for v1model uses the metadata that a traffic manager writes, or its priorities."""
    from offramp_p4 import ir
    from offramp_p4.engine.walk import blocks, nodes
    from offramp_p4.types import Structure, strip

    for block in blocks(program.main):
        for node in nodes(block, into_declarations=True):
            if (
                isinstance(node, ir.Member)
                and isinstance(kind := strip(node.base.type), Structure)
                and kind.fields[node.index].name in _OF_QUEUES
            ):
                return True
    return False


@dataclass(frozen=True)
class SwitchMaker:
    """Makes a switch for any program, always with the same options.

    Attributes:
        engine: one of :data:`offramp_p4.engines.ENGINES`.
        tm: traffic manager; None: what the program sends leaves at once.
        trace: gets the trace of each packet; only the Python engine has traces. With a traffic manager a program that
            reads what queues do gets no traces, and any other no queues. For a sink that wants bmv2's lines alone the
            native engine makes them, with queues; for one that wants outlines alone it makes these.
        debugger: may hold packets; only the Python engine has one, and a traffic manager keeps it out.
        seed, cpu_port, drop_port, max_state, max_steps: as of :class:`offramp_p4.switch.Switch`.
    """

    engine: str = "auto"
    seed: int = 0
    cpu_port: int | None = None
    drop_port: int = 511
    max_state: int = MAX_STATE_BYTES
    max_steps: int = MAX_STEPS
    tm: TmConfig | None = None
    trace: Callable[[PacketTrace], object] | None = None
    debugger: EngineDebugger | None = None

    def __call__(self, program: Program, cache: ObjectCache | None = None) -> AnySwitch:
        """The switch for ``program``; its machine code goes through ``cache``.

        Raises:
            OfframpError: the engine refuses the program.
        """
        from offramp_p4.engines import make_switch

        names = ("seed", "cpu_port", "drop_port", "max_state", "max_steps")
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        options["cache"], options["optimise"] = cache, OptimiseWhen.ASIDE
        for name in ("trace", "debugger"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        logged = self._logged(program, options)
        if logged is not None:
            return logged
        if self.tm is not None and self.trace is not None:
            if not reads_queues(program):  # a traffic manager would keep the trace out and change nothing else
                return self._outlined(program, options) or make_switch(program, self.engine, **options)
            del options["trace"]
            _LOG.warning("no traces: the program reads what queues do to its packets")
        if self.tm is None:
            return self._outlined(program, options) or make_switch(program, self.engine, **options)
        from offramp_p4.paced import PacedSwitch

        return PacedSwitch(program, self.tm, self.engine, **options)

    def _logged(self, program: Program, options: Mapping[str, Any]) -> AnySwitch | None:
        """The switch whose machine code leaves the lines of the log; None: the log is to come from traces."""
        write = getattr(self.trace, "lines_alone", None)
        if write is None or self.engine == "python" or program.main.type_name != "V1Switch":
            return None
        from offramp_p4.engines import make_switch
        from offramp_p4.paced import PacedSwitch
        from offramp_p4.trace.bmv2_lines import LEVELS

        native = {**{name: value for name, value in options.items() if name != "trace"}, "log": write}
        native["log_levels"] = getattr(self.trace, "levels", LEVELS)
        try:
            if self.tm is None:
                return make_switch(program, "native", **native)
            return PacedSwitch(program, self.tm, "native", **native)
        except OfframpError as error:
            _LOG.info("the log comes from the Python engine: %s", error)
            return None

    def _outlined(self, program: Program, options: Mapping[str, Any]) -> AnySwitch | None:
        """The switch whose machine code leaves outlines of traces; None: the traces are to be whole."""
        sink = getattr(self.trace, "outlines_alone", None)
        if sink is None or self.engine == "python" or program.main.type_name != "V1Switch":
            return None
        from offramp_p4.engines import make_switch

        native = {**{name: value for name, value in options.items() if name != "trace"}, "outline": sink}
        try:
            return make_switch(program, "native", **native)
        except OfframpError as error:
            _LOG.info("the traces come from the Python engine: %s", error)
            return None

    def to_plain(self) -> dict[str, Any]:
        """The recipe for :meth:`from_plain` in another process; of the trace it says only how it is made."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _HERE_ONLY}
        wanted = [name for name in _ALONE if getattr(self.trace, name, None) is not None]
        tm = None if self.tm is None else asdict(self.tm)
        return {**plain, "tm": tm, "traced": None if self.trace is None else wanted}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """The recipe that :meth:`to_plain` wrote."""
        own = dict(plain)
        if own["tm"] is not None:
            from offramp_p4.tm import TmConfig

            own["tm"] = TmConfig.from_plain(own["tm"])
        traced = own.pop("traced")
        return cls(**own, trace=None if traced is None else _NoTrace(traced))


class _NoTrace:
    """Takes traces, or what is ``wanted`` of :data:`_ALONE`, and writes nothing."""

    def __init__(self, wanted: Collection[str]) -> None:
        for name in wanted:
            setattr(self, name, self)

    def __call__(self, _: object) -> None:
        """Take a trace, an outline or lines."""
