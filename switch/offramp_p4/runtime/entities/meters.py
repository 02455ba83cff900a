# SPDX-License-Identifier: Apache-2.0
"""MeterEntry (section 9.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from offramp_base.p4rt.schema import config, v1
from offramp_p4.runtime.entities.base import ById, cells, invalid, modify_only
from offramp_p4.state import OVERFLOW, MeterCell, MeterState

Rates = tuple[tuple[float, int], ...]


def rates(entry: Any, field: str, what: str, kind: int) -> Rates:
    """Rate and burst of each bucket from the MeterConfig ``field`` of an entry; none (always green) without it.

    ``kind`` is the MeterSpec.Type of the meter.

    Raises:
        RpcError: a rate or burst is negative, or does not belong to this kind of meter.
    """
    if not entry.HasField(field):
        return ()
    c = getattr(entry, field)
    if min(c.cir, c.cburst, c.pir, c.pburst, c.eburst) < 0:
        raise invalid(f"{what}: rates and bursts are not negative")
    if c.eburst and kind != config.MeterSpec.SINGLE_RATE_THREE_COLOR:
        raise invalid(f"{what}: eburst {c.eburst} is for single-rate three-colour meters")
    if kind != config.MeterSpec.TWO_RATE_THREE_COLOR and (c.pir, c.pburst) != (c.cir, c.cburst):
        raise invalid(f"{what}: pir and pburst of a single-rate meter are its cir and cburst")
    if c.pir < c.cir:
        raise invalid(f"{what}: the peak rate {c.pir} is below the committed rate {c.cir}")
    if kind == config.MeterSpec.SINGLE_RATE_THREE_COLOR:
        return (float(c.cir), c.cburst), (OVERFLOW, c.eburst)
    return (float(c.cir), c.cburst), (float(c.pir), c.pburst)


def clears_colours(entry: Any, field: str, what: str) -> bool:
    """Whether an entry asks for counts of colours that begin from zero again, which is all that can be written.

    Raises:
        RpcError: it has another count than zero.
    """
    counts = getattr(entry, field)
    if any(c.packet_count or c.byte_count for c in (counts.green, counts.yellow, counts.red)):
        raise invalid(f"{what}: {field} can only be set to zero")
    return bool(entry.HasField(field))


def colour_counts(cell: MeterCell | None) -> Any:
    """What a meter has counted by colour; of None, which has met no packet, zeros."""
    cell = cell or MeterCell()
    counts = zip(cell.octets, cell.packets, strict=True)
    green, yellow, red = (v1.CounterData(byte_count=int(b), packet_count=int(p)) for b, p in counts)
    return v1.MeterCounterData(green=green, yellow=yellow, red=red)


def meter_config(cell: MeterCell) -> Any:
    """The configuration of a meter."""
    if not cell.rates:
        return v1.MeterConfig()
    (cir, cburst), (pir, pburst) = cell.rates
    if pir == OVERFLOW:
        return v1.MeterConfig(cir=int(cir), cburst=cburst, pir=int(cir), pburst=cburst, eburst=pburst)
    return v1.MeterConfig(cir=int(cir), cburst=cburst, pir=int(pir), pburst=pburst)


class MeterHandler:
    """MeterEntry: the cells of indirect meters; ``types`` has the MeterSpec.Type of each by its id."""

    def __init__(self, meters: ById[MeterState], types: Mapping[int, int]) -> None:
        self._meters, self._types = meters, types

    def write(self, kind: int, entry: Any) -> None:
        """Configure one cell or all, and clear their counts if the entry has any."""
        meter = self._meters.get(entry.meter_id)
        what = f"meter {meter.name}"
        modify_only(kind, what)
        clears = clears_colours(entry, "counter_data", what)
        indices, wanted = cells(entry, meter.size, what), rates(entry, "config", what, self._types[entry.meter_id])
        for index in indices:
            meter.cells[index].configure(wanted)
            if clears:
                meter.cells[index].clear_counts()

    def read(self, wanted: Any) -> Iterator[Any]:
        """Configurations of the cells, and what they have counted by colour if it is asked for."""
        for identifier, meter in self._meters.select(wanted.meter_id):
            for index in cells(wanted, meter.size, f"meter {meter.name}"):
                meter_entry = v1.MeterEntry(meter_id=identifier, index=v1.Index(index=index))
                if meter.cells[index].rates:
                    meter_entry.config.CopyFrom(meter_config(meter.cells[index]))
                if wanted.HasField("counter_data"):
                    meter_entry.counter_data.CopyFrom(colour_counts(meter.cells[index]))
                yield v1.Entity(meter_entry=meter_entry)
