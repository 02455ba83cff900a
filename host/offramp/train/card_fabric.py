# SPDX-License-Identifier: Apache-2.0
"""The FPGA card that is the switch of a run, as its control plane sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from offramp.fpga.card import with_card
from offramp.switchgnn.card import SwitchGnnCard
from offramp.train.results import SwitchTotals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from offramp.switchgnn.plan import Plan


class CardFabric:
    """One card for one run after another, as :class:`offramp.train.fabric.SwitchFabric` is a P4 switch.

    The card is held while it is asked something only.

    Args:
        name: ``fpga:udp=HOST`` or ``fpga:udp=HOST:PORT``.
        links: every worker's interface on the card's Ethernet.
        timeout_s: how long the card may be silent, or another host's.
    """

    def __init__(self, name: str, links: Sequence[str], timeout_s: float) -> None:
        self.links: Sequence[str] = list(links)
        self._name, self._timeout_s = name, timeout_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def load(self, plans: Sequence[Plan], aggregators: int) -> None:  # noqa: ARG002 - the strawman's
        """Forget the job before, and write the plans.

        Raises:
            OfframpError: the card does not answer, has no such engine, or no room for a plan.
        """
        with_card(self._name, self._open, lambda control: control.load(plans), self._timeout_s)

    def totals(self) -> SwitchTotals:
        """What the card counted since :meth:`load`; whose strangers' frames were it does not tell."""
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
