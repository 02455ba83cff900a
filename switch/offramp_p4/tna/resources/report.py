# SPDX-License-Identifier: Apache-2.0
"""The resource report of a program, and its derivation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from offramp_p4.tna.blocks import pipes
from offramp_p4.tna.resources.chip import TOFINO, TOFINO2, ChipLimits
from offramp_p4.tna.resources.dependencies import TableDependency, dependencies
from offramp_p4.tna.resources.graph import LogicalTable, logical_tables
from offramp_p4.tna.resources.phv import HeaderVector, header_vector
from offramp_p4.tna.resources.placement import StageUsage, TablePlacement, place

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.tna.blocks import Pipe


@dataclass(frozen=True, slots=True)
class CriticalTable:
    """One table of the critical chain: its stage, and why it stands no earlier."""

    stage: int
    table: str
    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class ResourceReport:
    """The resources that one pipe of a program takes.

    Attributes:
        chain: the chain of tables that decides the number of stages, from the first stage on.
        problems: resources that do not suffice; empty when the program fits.
        cautions: what may not fit: fields that are never alive together can share containers, which is not modelled.
    """

    pipe: str
    chip: ChipLimits
    stages: list[StageUsage]
    chain: list[CriticalTable]
    phv: HeaderVector
    problems: list[str]
    cautions: list[str]

    @property
    def fits(self) -> bool:
        """Whether nothing is lacking."""
        return not self.problems

    @property
    def over_by(self) -> int:
        """Stages beyond those of the chip."""
        return max(0, len(self.stages) - self.chip.stages)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "pipe": self.pipe,
            "chip": self.chip.name,
            "fits": self.fits,
            "stages_used": len(self.stages),
            "stages_available": self.chip.stages,
            "over_by": self.over_by,
            "problems": self.problems,
            "cautions": self.cautions,
            "phv_bits": self.phv.bits,
            "phv_container_bits": self.phv.container_bits,
            "phv_bits_available": self.chip.phv_bits,
            "phv_containers": {str(width): count for width, count in self.phv.containers.items()},
            "stages": [_stage(number, stage) for number, stage in enumerate(self.stages)],
            "chain": [
                {"stage": link.stage, "table": link.table, "place": link.place, "reason": link.reason}
                for link in self.chain
            ],
        }


def estimate(program: ir.Program, chip: ChipLimits | None = None) -> list[ResourceReport]:
    """A report for each pipe of a TNA program.

    Raises:
        Unsupported: the program is not for TNA.
        P4Error: a pass may access a register twice.
    """
    from offramp_p4.tna.one_access import check

    pipelines = pipes(program)
    for pipe in pipelines:
        check(pipe)
    wanted = chip or (TOFINO2 if "ghost_intrinsic_metadata_t" in program.types else TOFINO)
    return [_report(pipe, wanted) for pipe in pipelines]


def _report(pipe: Pipe, chip: ChipLimits) -> ResourceReport:
    sides = [logical_tables(pipe.ingress.control, "ingress"), logical_tables(pipe.egress.control, "egress")]
    needs = [need for side in sides for need in dependencies(side)]
    tables = [t for side in sides for t in side]
    placement = place(tables, needs, chip)
    phv = header_vector(tables, chip)
    chain, problems = _chain(placement, needs), _problems(placement, chip)
    return ResourceReport(pipe.name, chip, placement.stages, chain, phv, problems, _cautions(phv, chip))


def _problems(placement: TablePlacement, chip: ChipLimits) -> list[str]:
    out = []
    used = len(placement.stages)
    if used > chip.stages:
        out.append(f"{used} stages are needed, {chip.name} has {chip.stages}: {used - chip.stages} too many")
    for table, lacking in placement.oversized:
        out.append(f"{table.name} ({table.pos.file}:{table.pos.line}) fits no stage: not enough {lacking}")
    return out


def _cautions(phv: HeaderVector, chip: ChipLimits) -> list[str]:
    if phv.bits <= chip.phv_bits:
        return []
    return [f"the stages use {phv.bits} bits of fields, the packet header vector of a {chip.name} has {chip.phv_bits}"]


def _chain(placement: TablePlacement, needs: list[TableDependency]) -> list[CriticalTable]:
    """The chain of links that puts a table in the last stage."""
    if not placement.where:
        return []
    before: dict[LogicalTable, list[TableDependency]] = {}
    for need in needs:
        before.setdefault(need.after, []).append(need)
    where = placement.where
    table: LogicalTable | None = max(where, key=lambda t: where[t].last)
    links: list[CriticalTable] = []
    while table is not None:
        here = where[table]
        binding = next(
            (n for n in before.get(table, []) if where[n.before].last + n.stages == here.earliest and n.stages), None
        ) or next((n for n in before.get(table, []) if where[n.before].last + n.stages == here.earliest), None)
        links.append(CriticalTable(here.last, table.name, f"{table.pos.file}:{table.pos.line}", _reason(here, binding)))
        table = binding.before if binding is not None and here.earliest > 0 else None
    return links[::-1]


def _reason(here: Any, binding: TableDependency | None) -> str:
    parts = []
    if binding is not None and here.earliest > 0:
        parts.append(f"{binding.kind} dependency on {binding.before.name}: {binding.cause}")
    if here.limit:
        full = str(here.earliest) if here.first == here.earliest + 1 else f"{here.earliest} to {here.first - 1}"
        parts.append(f"no {here.limit} left in stage{'s' if ' ' in full else ''} {full}")
    if here.last > here.first:
        parts.append(f"its entries fill stages {here.first} to {here.last}")
    return "; ".join(parts) or "nothing holds it back"


def _stage(number: int, stage: StageUsage) -> dict[str, Any]:
    return {
        "stage": number,
        "tables": [t.name for t in stage.tables],
        "stateful_alus": len(stage.stateful),
        "statistics_alus": len(stage.counters),
        "srams": stage.srams,
        "tcams": stage.tcams,
        "map_rams": stage.map_rams,
        "gateways": stage.gateways,
        "hash_units": stage.hash_units,
    }
