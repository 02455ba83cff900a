# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate hermod --level packet``: every packet through the switch program, beside the flow level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from offramp_base import SettingsError
from offramp_cli import show
from offramp_sim.hermod import PacketResult, RunFaults, WireProperties, parse_pause, simulate_packets
from offramp_sim.hermod.flow import FlowResult, Loaded, SimulationSetup
from offramp_sim.hermod.flow.network import SEPARATE
from offramp_sim.hermod.flow.study import one
from offramp_sim.hermod.fluid import fluid

if TYPE_CHECKING:
    from rich.console import Console

_QUEUES: Final = 8
_FEW: Final = 20
"""Packets below which a flow is too short for its times to mean much."""


@dataclass(frozen=True, slots=True)
class PacketLevel:
    """Settings of the packet level, and results so far.

    Attributes:
        outcomes: results at both levels, by policy.
    """

    setup: SimulationSetup
    wire: WireProperties
    faults: RunFaults
    outcomes: dict[str, tuple[PacketResult, FlowResult]] = field(default_factory=dict)

    @classmethod
    def of(cls, setup: SimulationSetup, packets: int, engine: str, loss: float, pauses: list[str]) -> PacketLevel:
        """Check the options.

        Raises:
            OfframpError: one of them does not fit.
        """
        if setup.all_to_all != "fluid":
            raise SettingsError(
                "all_to_all", "the packet level sends all flows at once, as fluid does", setup.all_to_all
            )
        chosen = replace(setup, granularity=SEPARATE, queues=setup.queues or _QUEUES)
        faults = RunFaults(loss, tuple(map(parse_pause, pauses)))
        return cls(chosen, WireProperties(packets, engine=engine), faults)

    def run(self, loaded: Loaded, policy: str, report: Callable[[float], None]) -> PacketResult:
        """Run one policy at both levels."""
        setup = self.setup
        queues = setup.queues if policy.startswith("hermod") else None
        outcome = simulate_packets(
            loaded,
            policy,
            queues=queues,
            scheme=setup.scheme,
            hosts=setup.hosts,
            wire=self.wire,
            faults=self.faults,
            seed=setup.seed,
            progress=report,
        )
        self.outcomes[policy] = outcome, one(fluid(loaded, self.wire), policy, setup)
        return outcome

    def numbers(self) -> dict[str, Any]:
        """Results of packets and of the flow level, for JSON."""
        return {
            name: {
                "flow_level_iteration_s": flow.iteration_s,
                "difference": packet.iteration_s / flow.iteration_s - 1,
                "scale": packet.sizes.scale,
                "window": packet.sizes.window,
                "engine": packet.engine,
                "packets": packet.data,
                "smallest_flow": packet.smallest,
                "retransmitted": packet.retransmitted,
                "lost": packet.lost,
                "dropped": packet.dropped,
                "queues": packet.queues,
            }
            for name, (packet, flow) in self.outcomes.items()
        }

    def show(self, console: Console) -> None:
        """Print a line for each policy, and how packets represent bytes."""
        table = show.table("packet level", "flow level", "difference", "packets", "sent again", "lost")
        rows = self.numbers()
        for name, row in rows.items():
            table.add_row(
                name,
                f"{row['flow_level_iteration_s']:.4g} s",
                f"{row['difference']:+.1%}",
                f"{row['packets']:,}",
                f"{row['retransmitted']:,}",
                f"{row['lost'] + row['dropped']:,}",
            )
        console.print(table)
        for name, row in rows.items():
            by_queue = ", ".join(f"{queue}: {count:,}" for queue, count in row["queues"].items())
            console.print(f"{name}: packets by queue {by_queue}")
        packet = next(iter(self.outcomes.values()))[0]
        sizes = packet.sizes
        console.print(
            f"a packet of {sizes.payload} bytes stands for {sizes.payload * sizes.scale:,.0f} of the job; window "
            f"{sizes.window}, {packet.engine} engine"
        )
        if packet.smallest < _FEW:
            console.print(f"the smallest flow has {packet.smallest} packets: more with --packets, or a smaller job")
