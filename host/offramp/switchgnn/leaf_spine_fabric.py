# SPDX-License-Identifier: Apache-2.0
"""The leaf and spine switches of a run from their control plane's view."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Self

from offramp.p4src import p4_text
from offramp.switchgnn.control import SwitchGnnControl, sizes_for
from offramp.switchgnn.fabric import PROGRAMS, expect_loaded
from offramp.switchgnn.stats import SwitchTotals
from offramp.switchgnn.two_level import leaf_entries, spine_entries
from offramp_base.p4rt.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from offramp.switchgnn.leaf_spine import LeafSpine
    from offramp.switchgnn.plan import Plan


class LeafSpineFabric:
    """All switches for consecutive runs, like :class:`offramp.switchgnn.fabric.SwitchFabric` for a single one.

    Args:
        network: location of workers and switches.
        leaves: P4Runtime address of each leaf.
        spines: P4Runtime address of each spine.
        links: the host-side end of every worker's link.
        loaded: fingerprint of the plans already loaded; empty: none.
    """

    def __init__(
        self,
        network: LeafSpine,
        leaves: Sequence[str],
        spines: Sequence[str],
        links: Sequence[str],
        loaded: str = "",
    ) -> None:
        self.links: Sequence[str] = list(links)
        self._network, self._loaded = network, loaded
        self._addresses = [*leaves, *spines]
        self._stack = ExitStack()
        self._sessions: list[Session] = []

    def __enter__(self) -> Self:
        sessions = [Session(address) for address in self._addresses]
        contexts = [closing(session) if self._loaded else session for session in sessions]
        self._sessions = [self._stack.enter_context(each) for each in contexts]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def load(
        self,
        plans: Sequence[Plan],
        aggregators: int,  # noqa: ARG002 - the strawman's
        *,
        acks: bool = False,
    ) -> None:
        """Load like :meth:`SwitchFabric.load`: the same program everywhere, and each switch's own place and entries."""
        if self._loaded:
            expect_loaded(self._loaded, plans)
            return
        network = self._network
        text = p4_text(PROGRAMS["switch", "v1model"], sizes_for(plans, leaves=network.leaves))
        entries = [leaf_entries(plans, network, leaf, acks=acks) for leaf in range(network.leaves)]
        entries += [spine_entries(plans, network, acks=acks)] * network.spines
        for session, own_entries in zip(self._sessions, entries, strict=True):
            session.push(b"", text.encode())
            SwitchGnnControl(session).load_place(own_entries, plans)

    def _names(self) -> list[str]:
        leaves = [f"leaf {leaf}" for leaf in range(self._network.leaves)]
        return leaves + [f"spine {spine}" for spine in range(self._network.spines)]

    def totals(self) -> SwitchTotals:
        """Counts of all switches since :meth:`load`; the peak is that of the fullest switch."""
        controls = [SwitchGnnControl(session) for session in self._sessions]
        counters = [control.counters() for control in controls]
        peaks = [occupancy[1] for control in controls if (occupancy := control.occupancy())]
        return SwitchTotals(
            passes=sum(counts["passes"] for counts in counters),
            recirculations=sum(counts["recirculations"] for counts in counters),
            aggregators_peak=max(peaks) if len(peaks) == len(controls) else None,
            overflows=0,
            strangers={
                f"{name}, port {port}": packets
                for name, control in zip(self._names(), controls, strict=True)
                for port, packets in control.strangers().items()
            },
        )
