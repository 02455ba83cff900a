# SPDX-License-Identifier: Apache-2.0
"""The FPGA card that acts as the switch of a run, from its control plane's view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from offramp.fpga.card import with_card
from offramp.switchgnn.card import SwitchGnnCard
from offramp.switchgnn.stats import SwitchTotals
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.switchgnn.plan import Plan


class CardFabric:
    """One card for consecutive runs, like :class:`offramp.switchgnn.fabric.SwitchFabric` for a P4 switch.

    The card is held only during requests.

    Args:
        name: ``fpga:udp=HOST`` or ``fpga:udp=HOST:PORT``.
        links: every worker's interface on the card's Ethernet.
        timeout_s: seconds for which the card may be silent, or held by another host.
    """

    def __init__(self, name: str, links: Sequence[str], timeout_s: float) -> None:
        self.links: Sequence[str] = list(links)
        self._name, self._timeout_s = name, timeout_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def load(
        self,
        plans: Sequence[Plan],
        aggregators: int,  # noqa: ARG002 - the strawman's
        *,
        acks: bool = False,
    ) -> None:
        """Replace the card's job by these plans.

        Raises:
            OfframpError: the card does not answer, lacks the engine, or has no room for a plan; ``acks``, which no
                card serves.
        """
        if acks:
            raise OfframpError(f"acks: {self._name} does not serve them")
        with_card(self._name, self._open, lambda control: control.load(plans), self._timeout_s)

    def totals(self) -> SwitchTotals:
        """Counts of the card since :meth:`load`; it does not report who sent strangers' frames."""
        counters = with_card(self._name, self._open, lambda control: control.counters(), self._timeout_s)
        strangers = counters["stranger"]
        return SwitchTotals(
            passes=counters["passes"],
            recirculations=counters["recirculations"],
            aggregators_peak=None,
            overflows=counters["overflows"],
            strangers={"card": strangers} if strangers else {},
        )

    def _open(self) -> SwitchGnnCard:
        return SwitchGnnCard(self._name, self._timeout_s)
