"""MeterEntry (section 9.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from offramp.switch.p4rt.schema import v1
from offramp_sim.p4.runtime.entities.base import ById, cells, invalid, modify_only
from offramp_sim.p4.state import MeterCell, MeterState


def configure(cell: MeterCell, entry: Any, what: str) -> None:
    """Set a meter to the ``config`` of an entry; without one, green for ever.

    Raises:
        RpcError: a rate or burst is negative, or the peak is below the committed rate.
    """
    if not entry.HasField("config"):
        cell.configure(())
        return
    c = entry.config
    if min(c.cir, c.cburst, c.pir, c.pburst) < 0 or c.eburst:
        raise invalid(f"{what}: rates and bursts of a two-rate meter are not negative, and eburst is 0")
    if c.pir < c.cir:
        raise invalid(f"{what}: the peak rate {c.pir} is below the committed rate {c.cir}")
    cell.configure(((float(c.cir), c.cburst), (float(c.pir), c.pburst)))


def meter_config(cell: MeterCell) -> Any:
    """The configuration of a meter."""
    if not cell.rates:
        return v1.MeterConfig()
    (cir, cburst), (pir, pburst) = cell.rates
    return v1.MeterConfig(cir=int(cir), cburst=cburst, pir=int(pir), pburst=pburst)


class MeterHandler:
    """MeterEntry: the cells of indirect meters."""

    def __init__(self, meters: ById[MeterState]) -> None:
        self._meters = meters

    def write(self, kind: int, entry: Any) -> None:
        """Configure one cell or all."""
        meter = self._meters.get(entry.meter_id)
        what = f"meter {meter.name}"
        modify_only(kind, what)
        for index in cells(entry, meter.size, what):
            configure(meter.cells[index], entry, what)

    def read(self, wanted: Any) -> Iterator[Any]:
        """Configurations of the cells."""
        for identifier, meter in self._meters.select(wanted.meter_id):
            for index in cells(wanted, meter.size, f"meter {meter.name}"):
                made = v1.MeterEntry(meter_id=identifier, index=v1.Index(index=index))
                if meter.cells[index].rates:
                    made.config.CopyFrom(meter_config(meter.cells[index]))
                yield v1.Entity(meter_entry=made)
