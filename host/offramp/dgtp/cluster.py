# SPDX-License-Identifier: Apache-2.0
"""Machines and their network cards: a star in which nothing but the cards limits a transfer (section III-B)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Machine:
    """One machine.

    Attributes:
        name: name of the host.
        capacity: available amount of each resource, C_m^r.
        ingress_bps, egress_bps: available bandwidth of the network card.
        speed: by kind of task, how many times faster than the job's figures it runs here; 1 where nothing is said.
        address: address at which launchers reach it; the name by default.
    """

    name: str
    capacity: Mapping[str, float]
    ingress_bps: float
    egress_bps: float
    speed: Mapping[str, float] = field(default_factory=dict)
    address: str | None = None

    def __post_init__(self) -> None:
        """Check rates, resources and speeds.

        Raises:
            OfframpError: names the machine and the field.
        """
        for name in ("ingress_bps", "egress_bps"):
            if not 0 < getattr(self, name) < float("inf"):
                raise OfframpError(f"machine {self.name}: {name} {getattr(self, name)}: expected more than 0 bit/s")
        for resource, amount in self.capacity.items():
            if not 0 <= amount < float("inf"):
                raise OfframpError(f"machine {self.name}: {resource} {amount}: expected at least 0")
        for kind, factor in self.speed.items():
            if not 0 < factor < float("inf"):
                raise OfframpError(f"machine {self.name}: speed of {kind} {factor}: expected more than 0")


@dataclass(frozen=True, slots=True)
class MachineCluster:
    """The machines of a job; each hosts one graph store."""

    machines: tuple[Machine, ...]

    def __post_init__(self) -> None:
        """Check that there is a machine, and that no two have one name.

        Raises:
            OfframpError: no machine, or two of one name.
        """
        if not self.machines:
            raise OfframpError("cluster: expected at least one machine")
        seen: set[str] = set()
        for machine in self.machines:
            if machine.name in seen:
                raise OfframpError(f"cluster: two machines are called {machine.name}")
            seen.add(machine.name)

    def __len__(self) -> int:
        return len(self.machines)
