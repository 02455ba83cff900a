# SPDX-License-Identifier: Apache-2.0
"""Ports of the chip: their configuration, counts, names, and what the device says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from offramp_p4.ports.panel import FrontPanel
from offramp_p4.state.match import Exact
from offramp_p4.tna.ports import PORTS_PER_PIPE, RECIRCULATION_PORT
from offramp_p4_tools.bfrt.fields import TableSpec
from offramp_p4_tools.bfrt.stores.base import TableStore
from offramp_p4_tools.bfrt.stores.chip import Records
from offramp_p4_tools.bfrt.values import EntryData, Key, Value, not_found, only

_CPU_PORT: Final = 64
"""Default port of the CPU, in the first pipe as on a Tofino."""
_CHANNELS: Final = 4
_STAGES: Final = 12


def _nobody(port: int, up: bool) -> None:
    del port, up


class PortStore(Records):
    """``$PORT``. The ports that are attached exist from the start; others may be added and never come up.

    An attached port that is disabled, or that is no longer in the table, drops the frames of both directions.

    Args:
        moved: called with each port whose link comes up or goes down, also because it is enabled or disabled.
    """

    def __init__(self, spec: TableSpec, panel: FrontPanel, moved: Callable[[int, bool], None] = _nobody) -> None:
        super().__init__(spec, self.links_changed)
        self._panel, self._moved = panel, moved
        self._up: dict[int, bool] = {}
        for number in sorted(panel.ports):
            values: dict[str, Value] = {"$PORT_ENABLE": panel.enabled(number), "$SPEED": "BF_SPEED_100G"}
            self.insert((Exact(number),), EntryData(None, values))

    def modify(self, key: Key, data: EntryData) -> None:
        """Change the fields that are given; another protocol may have enabled or disabled the port since."""
        now = {"$PORT_ENABLE": self.get(key).values["$PORT_ENABLE"]}
        super().modify(key, EntryData(data.action, {**now, **data.values}))

    def delete(self, key: Key) -> None:
        """Remove a port; frames pass it no more."""
        self._find(key)
        self._enable(only(key), on=False)
        super().delete(key)

    def _put(self, key: Key, action: Any, values: Mapping[str, Value]) -> None:
        self._enable(only(key), on=bool(values["$PORT_ENABLE"]))
        super()._put(key, action, values)

    def _enable(self, number: int, *, on: bool) -> None:
        if number in self._panel.ports and self._panel.enabled(number) != on:
            self._panel.enable({number: on})

    def get(self, key: Key) -> EntryData:
        """A port, with whether its link is up; another protocol may have disabled it."""
        number = only(key)
        data = super().get(key)
        enabled = self._enabled(number, data)
        status: dict[str, Value] = {
            "$PORT_ENABLE": enabled,
            "$MEDIA_TYPE": "BF_MEDIA_TYPE_UNKNOWN",
            "$IS_VALID": True,
            "$IS_INTERNAL": False,
            "$CONN_ID": connector(number),
            "$CHNL_ID": number % _CHANNELS,
            "$PORT_UP": self._is_up(number, data),
            "$PORT_NAME": port_name(number),
        }
        return EntryData(None, {**data.values, **status})

    def links_changed(self) -> None:
        """Tell whose link has come up or gone down."""
        now = {only(key): self._is_up(only(key), data) for key, data in self.entries.items()}
        before, self._up = self._up, now
        for number in before | now:
            if (up := now.get(number, False)) != before.get(number, False):
                self._moved(number, up)

    def _is_up(self, number: int, data: EntryData) -> bool:
        attached = number in self._panel.ports or not self._panel.ports
        return self._enabled(number, data) and self._panel.links.up(number) and attached

    def _enabled(self, number: int, data: EntryData) -> bool:
        return self._panel.enabled(number) if number in self._panel.ports else bool(data.values["$PORT_ENABLE"])


def connector(number: int) -> int:
    """The connector of a port, counted from 1 over all pipes."""
    pipe, within = divmod(number, PORTS_PER_PIPE)
    return pipe * 16 + within // _CHANNELS + 1


def port_name(number: int) -> str:
    """``connector/channel``, as P4 Studio's command line has it."""
    return f"{connector(number)}/{number % _CHANNELS}"


class PortStatStore(TableStore):
    """``$PORT_STAT``: frames of each attached port; the other counts of a MAC are not kept."""

    def __init__(self, spec: TableSpec, panel: FrontPanel) -> None:
        super().__init__(spec)
        self._panel = panel
        self._cleared: dict[int, tuple[int, int, int]] = {}

    def get(self, key: Key) -> EntryData:
        """The counts of a port since they were cleared."""
        number = only(key)
        if number not in self._panel.ports:
            raise not_found(self.spec)
        before = self._cleared.get(number, (0, 0, 0))
        received, sent, dropped = (now - then for now, then in zip(self._now(number), before, strict=True))
        values: dict[str, Value] = {
            "$FramesReceivedOK": received,
            "$FramesReceivedAll": received,
            "$FramesDroppedBufferFull": 0,
            "$FramesTransmittedOK": sent,
            "$FramesTransmittedAll": sent + dropped,
            "$FramesTransmittedwithError": dropped,
        }
        return EntryData(None, values)

    def keys(self) -> Iterator[Key]:
        """The attached ports."""
        return ((Exact(number),) for number in sorted(self._panel.ports))

    def modify(self, key: Key, data: EntryData) -> None:
        """Set the counts to 0; all of them at once, and no other value."""
        if any(data.values.values()):
            raise self.wrong("a port's counts can only be set to 0")
        number = only(key)
        self._cleared[number] = self._now(number)

    def reset(self, key: Key) -> None:
        """Count a port from 0 again."""
        self.get(key)
        number = only(key)
        self._cleared[number] = self._now(number)

    def clear(self) -> None:
        """Count all ports from 0 again."""
        for number in self._panel.ports:
            self._cleared[number] = self._now(number)

    def _now(self, number: int) -> tuple[int, int, int]:
        stats = self._panel.ports[number].stats
        return stats.received, stats.sent, stats.dropped


class PortLookup(TableStore):
    """Maps a connector and channel, or a name, to a port."""

    def __init__(self, spec: TableSpec, ports: PortStore) -> None:
        super().__init__(spec)
        self._ports = ports

    def get(self, key: Key) -> EntryData:
        """The port."""
        for (part,) in self._ports.keys():  # noqa: SIM118 (it is not a mapping)
            number = cast("Exact", part).value
            if key == self._key(number):
                return EntryData(None, {"$DEV_PORT": number})
        raise not_found(self.spec)

    def keys(self) -> Iterator[Key]:
        """The keys of all ports."""
        return (self._key(cast("Exact", part).value) for (part,) in self._ports.keys())  # noqa: SIM118

    def _key(self, number: int) -> Key:
        if len(self.spec.key) == 1:
            return (port_name(number),)
        return Exact(connector(number)), Exact(number % _CHANNELS)


class DeviceStore(TableStore):
    """``device_configuration``: pipes, stages and ports, as a default entry."""

    def __init__(self, spec: TableSpec, panel: FrontPanel, pipes: int) -> None:
        super().__init__(spec)
        self._writable: dict[str, Value] = {f.name: cast("Value", f.default) for f in spec.data if not f.read_only}
        self._panel, self._pipes = panel, pipes

    def get_default(self) -> EntryData:
        """The properties of the device."""
        cpu = _CPU_PORT if self._panel.cpu_port is None else self._panel.cpu_port
        recirculation = [PORTS_PER_PIPE * pipe + RECIRCULATION_PORT for pipe in range(self._pipes)]
        status: dict[str, Value] = {
            "sku": "UNKNOWN",
            "num_pipes": self._pipes,
            "num_stages": _STAGES,
            "num_max_ports": PORTS_PER_PIPE * self._pipes,
            "num_front_ports": len(self._panel.ports),
            "pcie_cpu_port": cpu,
            "eth_cpu_port_list": [cpu],
            "internal_port_list": recirculation,
            "external_port_list": sorted(self._panel.ports),
            "recirc_port_list": recirculation,
            "intr_based_link_monitoring": False,
        }
        return EntryData(None, {**status, **self._writable})

    def set_default(self, data: EntryData) -> None:
        """Change the writable fields; they are kept, and have no effect."""
        self._writable |= data.values

    def reset_default(self) -> None:
        """Bring the first values back."""
        self._writable = {f.name: cast("Value", f.default) for f in self.spec.data if not f.read_only}

    def clear(self) -> None:
        """Clear the settings, like :meth:`reset_default`."""
        self.reset_default()

    def usage(self) -> int:
        """Number of entries, always 0."""
        return 0

    def keys(self) -> Iterator[Key]:
        """No keys: the table has only a default entry."""
        return iter(())
