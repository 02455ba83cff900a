# SPDX-License-Identifier: Apache-2.0
"""The packet generator: ports, applications, and the buffer that packets are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.state.match import Exact
from offramp_p4.tna.generator import APPS, App, PacketGenerator, Trigger
from offramp_p4.tna.ports import PORTS_PER_PIPE, RECIRCULATION_PORT
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.values import EntryData, Key, Value, numbers, only

_FIELDS: Final = {
    "timer_nanosec": "timer_ns",
    "pattern_value": "pattern",
    "pattern_mask": "mask",
    "ibg": "batch_gap_ns",
    "ipg": "packet_gap_ns",
    "pkt_len": "length",
    "pkt_buffer_offset": "offset",
    "pipe_local_source_port": "source_port",
    "increment_source_port": "counts_ports",
}
_LESS_ONE: Final = {"batch_count_cfg": "batches", "packets_per_batch_cfg": "packets"}
_COUNTERS: Final = {"trigger_counter": "triggers", "batch_counter": "batches", "pkt_counter": "packets"}
_NEEDED: Final = {
    "trigger_timer_one_shot": ("timer_nanosec",),
    "trigger_timer_periodic": ("timer_nanosec",),
    "trigger_recirc_pattern": ("pattern_value", "pattern_mask"),
}


class AppStore(TableStore):
    """``pktgen.app_cfg``: an entry with an action says all that an application does, one without changes the rest."""

    def __init__(self, spec: TableSpec, generator: PacketGenerator, now_us: Callable[[], int]) -> None:
        super().__init__(spec)
        self._generator, self._now_us = generator, now_us

    def modify(self, key: Key, data: EntryData) -> None:
        """Configure an application, set its counts, start or stop it."""
        number, values, generator = only(key), data.values, self._generator
        if any(values.get(name) for name in ("ibg_jitter", "ipg_jitter")):
            raise RpcError(Code.UNIMPLEMENTED, f"table {self.spec.name}: gaps have no jitter")
        if data.action is not None:
            generator.configure(number, self._app(data))
        elif odd := sorted(values.keys() & {*_FIELDS, *_LESS_ONE}):
            raise self.wrong(f"{odd[0]} without an action: they say together what the application does")
        for count in generator.counts(number):
            for name, attribute in _COUNTERS.items():
                if name in values:
                    setattr(count, attribute, values[name])
        if "app_enable" in values:
            generator.enable(number, enabled=bool(values["app_enable"]), now_ns=self._now_us() * 1000)

    def _app(self, data: EntryData) -> App:
        assert data.action is not None
        values = cast("dict[str, Any]", data.values)
        for name in _NEEDED.get(data.action.name, ()):
            if name not in values:
                raise self.wrong(f"{data.action.name} without {name}")
        settings = {attribute: values[name] for name, attribute in _FIELDS.items() if name in values}
        settings |= {attribute: values[name] + 1 for name, attribute in _LESS_ONE.items() if name in values}
        return App(Trigger(data.action.name), **settings)

    def get(self, key: Key) -> EntryData:
        """An application; counts are of all pipes."""
        number, generator = only(key), self._generator
        app, counts = generator.app(number), generator.counts(number)
        action = next(a for a in self.spec.actions or () if a.name == app.trigger.value)
        wanted = {f.name for f in self.spec.fields(action).values()}
        values: dict[str, Value] = {name: getattr(app, attribute) for name, attribute in _FIELDS.items()}
        values |= {name: getattr(app, attribute) - 1 for name, attribute in _LESS_ONE.items()}
        values |= {name: sum(getattr(c, attribute) for c in counts) for name, attribute in _COUNTERS.items()}
        values |= {"app_enable": generator.enabled(number), "ibg_jitter": 0, "ipg_jitter": 0}
        return EntryData(action, {name: value for name, value in values.items() if name in wanted})

    def keys(self) -> Iterator[Key]:
        """All applications."""
        return ((Exact(number),) for number in range(APPS))

    def reset(self, key: Key) -> None:
        """Have an application do nothing."""
        number = only(key)
        self._generator.configure(number, App())
        for count in self._generator.counts(number):
            count.triggers = count.batches = count.packets = 0

    def clear(self) -> None:
        """Have no application do anything."""
        for key in self.keys():
            self.reset(key)


class BufferStore(TableStore):
    """``pktgen.pkt_buffer``: parts of the buffer, by offset and length."""

    def __init__(self, spec: TableSpec, generator: PacketGenerator) -> None:
        super().__init__(spec)
        self._generator = generator

    def modify(self, key: Key, data: EntryData) -> None:
        """Fill a part."""
        offset, size = numbers(key)
        content = bytes(cast("list[int]", data.values.get("buffer", [])))
        if len(content) != size:
            raise self.wrong(f"{len(content)} bytes given, the key says {size}")
        self._generator.fill(offset, content)

    def get(self, key: Key) -> EntryData:
        """A part."""
        offset, size = numbers(key)
        self._generator.check_part(offset, size)
        return EntryData(None, {"buffer": list(self._generator.buffer[offset : offset + size])})

    def keys(self) -> Iterator[Key]:
        """There are no entries to list."""
        return iter(())

    def clear(self) -> None:
        """Fill the buffer with zeros."""
        self._generator.buffer[:] = bytes(len(self._generator.buffer))


class GeneratorPortStore(TableStore):
    """``pktgen.port_cfg``: which ports let generated packets in, compare those that recirculate, trigger when down."""

    def __init__(self, spec: TableSpec, generator: PacketGenerator, recirculating: frozenset[int]) -> None:
        super().__init__(spec)
        self._generator, self._recirculating = generator, recirculating

    def modify(self, key: Key, data: EntryData) -> None:
        """Change the packet generator's settings of a port."""
        port, generator = self._port(key), self._generator
        if "recirculation_enable" in data.values and data.values["recirculation_enable"] != self._loops(port):
            raise RpcError(Code.UNIMPLEMENTED, f"table {self.spec.name}: which ports recirculate cannot be changed")
        for name, ports in (("pktgen_enable", generator.generating), ("pattern_matching_enable", generator.matching)):
            if not data.values.get(name, False):
                if name in data.values:
                    ports.discard(port)
                continue
            if port % PORTS_PER_PIPE != RECIRCULATION_PORT:
                raise self.wrong(f"{name} of port {port}: only port {RECIRCULATION_PORT} of a pipe can")
            ports.add(port)
        if data.values.get("clear_port_down_enable"):
            generator.watch(port)

    def get(self, key: Key) -> EntryData:
        """The packet generator's settings of a port."""
        port = self._port(key)
        values: dict[str, Value] = {
            "recirculation_enable": self._loops(port),
            "pktgen_enable": port in self._generator.generating,
            "pattern_matching_enable": port in self._generator.matching,
            "clear_port_down_enable": False,
        }
        return EntryData(None, values)

    def keys(self) -> Iterator[Key]:
        """Port 68 of each pipe."""
        return ((Exact(PORTS_PER_PIPE * pipe + RECIRCULATION_PORT),) for pipe in range(self._generator.pipes))

    def clear(self) -> None:
        """No port lets generated packets in, or compares any."""
        self._generator.generating.clear()
        self._generator.matching.clear()

    def _loops(self, port: int) -> bool:
        return port in self._recirculating

    def _port(self, key: Key) -> int:
        port = only(key)
        if port >= PORTS_PER_PIPE * self._generator.pipes:
            raise self.wrong(f"port {port}: this Tofino has ports 0 to {PORTS_PER_PIPE * self._generator.pipes - 1}")
        return port
