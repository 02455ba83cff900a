# SPDX-License-Identifier: Apache-2.0
"""The program that carries several systems, ``p4/job``, with room for a job's own part and what is left for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from offramp.allreduce.wire import PAGE
from offramp.cluster.model import Cluster, ClusterSwitch
from offramp.p4src import p4_text
from offramp.switchgnn.chunks import aggregator_bytes
from offramp.switchgnn.wire import LANES
from offramp_base.errors import OfframpError

SHARED: Final = "job/v1model.p4"
MOST_PAGES: Final = 16
"""Most pages that a job's part of the program numbers."""
SEGMENT_BYTES: Final = 256
_SLOT_BYTES: Final = 16
"""Chunk, ranks, exponent and flags of a slot."""
_SEGMENTS: Final = (32, 4, 1)


TOFINO_REGISTERS: Final = {"SwitchGNN": 38, "all-reduce": 38}
"""Registers of each system's program for Tofino, each of which takes a stateful unit of its own."""
TOFINO_LANES: Final = 32
"""Registers of lanes among them, which two systems could have in common."""
TOFINO_STAGES: Final = {"SwitchGNN": 11, "all-reduce": 12}
"""Stages that each system's program takes: lanes fill eight, one after another, behind what they depend on."""
TOFINO_CLASS_STAGES: Final = 2
"""Stages after which Hermod's program knows a packet's class, which may forbid its sum."""
TOFINO_PIPE: Final = 12
"""Stages of a pipe of a Tofino."""
TOFINO_UNITS: Final = 4 * TOFINO_PIPE
"""Stateful units of a pipe: four in each stage."""


def refuse_tofino(cluster: Cluster) -> None:
    """Refuse switches on which systems do not fit together.

    Raises:
        OfframpError: such a switch, and what does not fit; with file and line.
    """
    for switch in cluster.switches:
        if switch.target == "tna":
            raise OfframpError(f"{cluster.place(switch.name)}: {switch.name}: target tna: {_too_much()}")


def _too_much() -> str:
    """The reason that systems do not fit into a pipe together, side by side or with lanes in common."""
    need = " and ".join(f"{system} {count}" for system, count in TOFINO_REGISTERS.items())
    units, most = sum(TOFINO_REGISTERS.values()) - TOFINO_LANES, max(TOFINO_STAGES.values())
    common = f"with lanes in common {units} do, but in {most + TOFINO_CLASS_STAGES} stages of {TOFINO_PIPE}"
    classes = f"{TOFINO_CLASS_STAGES} for a packet's class before the {most} of its sum"
    return f"a pipe of a Tofino has {TOFINO_UNITS} stateful units: {need} do not fit together; {common}, {classes}"


def page_bytes(segments: int) -> int:
    """Stateful memory of a page of slots of all-reduce."""
    return PAGE * (segments * SEGMENT_BYTES + _SLOT_BYTES)


def part_of_switchgnn(memory: int) -> int:
    """Bytes of a switch's memory that a job of SwitchGNN may use where it shares the switch: half of them."""
    return memory // 2


@dataclass(frozen=True)
class SharedSizes:
    """The room of each system in the program.

    Attributes:
        pages, segments: pages of slots of all-reduce, and segments of its frames.
        aggregators, gnn_segments: aggregators of SwitchGNN, and segments of each.
        tables: sizes of SwitchGNN's tables, where they are not the program's own.
    """

    pages: int
    segments: int
    aggregators: int
    gnn_segments: int
    tables: Mapping[str, int]

    @property
    def text(self) -> str:
        """Text of the program."""
        sizes = {"PAGES": self.pages, "ALLREDUCE_SEGMENTS": self.segments, "PARTIALS": self.aggregators}
        sizes |= {"AGGREGATORS": self.aggregators, "SWITCHGNN_SEGMENTS": self.gnn_segments}
        return p4_text(SHARED, {**self.tables, **sizes})

    def __str__(self) -> str:
        lanes = self.gnn_segments * LANES
        slots = f"{self.pages} pages of all-reduce with frames of {self.segments} segments"
        return f"{SHARED}: {self.aggregators} aggregators of SwitchGNN with {lanes} lanes, {slots}, Hermod's queues"


def sizes_for_pages(switch: ClusterSwitch, place: str, pages: int, segments: int) -> SharedSizes:
    """The program for a job of all-reduce: its pages come first, then SwitchGNN's part, then further pages.

    Raises:
        OfframpError: the switch's memory is too small; one line with file and line.
    """
    own, each = pages * page_bytes(segments), aggregator_bytes(LANES)
    aggregators = min(part_of_switchgnn(switch.memory), switch.memory - own) // each
    if aggregators < 1:
        raise _too_small(switch, place, own + each)
    left = switch.memory - own - aggregators * each
    return SharedSizes(min(MOST_PAGES, pages + left // page_bytes(segments)), segments, aggregators, 1, {})


def sizes_for_plans(switch: ClusterSwitch, place: str, sizes: Mapping[str, int], segments: int) -> SharedSizes:
    """The program for a job of SwitchGNN, whose own program would have ``sizes``: what they leave is all-reduce's.

    Its frames get as many segments as the job says, or fewer where there would be no page.

    Raises:
        OfframpError: the switch's memory is too small; one line with file and line.
    """
    gnn_segments, aggregators = sizes["SEGMENTS"], sizes["AGGREGATORS"]
    own = aggregators * aggregator_bytes(gnn_segments * LANES)
    rest = switch.memory - own
    fitting = next((each for each in _SEGMENTS if each <= segments and page_bytes(each) <= rest), None)
    if fitting is None:
        raise _too_small(switch, place, own + page_bytes(1))
    tables = {name: sizes[name] for name in ("FANOUT_ENTRIES", "SLOT_ENTRIES", "OWNER_ENTRIES", "HOSTS")}
    return SharedSizes(min(MOST_PAGES, rest // page_bytes(fitting)), fitting, aggregators, gnn_segments, tables)


def _too_small(switch: ClusterSwitch, place: str, need: int) -> OfframpError:
    return OfframpError(f"{place}: {switch.name}: memory {switch.memory} B: {SHARED} needs {need} B for the job")
