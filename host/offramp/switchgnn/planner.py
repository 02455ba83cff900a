# SPDX-License-Identifier: Apache-2.0
"""Comparison of all schemes, and the choice of the one with the least predicted time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from offramp.graph.boundary import Boundary
from offramp.switchgnn.cost import ExchangeTime, Rates, predict
from offramp.switchgnn.hybrid import PASS_SHARES
from offramp.switchgnn.plan import Plan
from offramp.switchgnn.scheme import Scheme
from offramp.switchgnn.scheme_plan import SchemePlan, base_plan, plan_scheme
from offramp.switchgnn.wire import LANES
from offramp_base.errors import OfframpError
from offramp_base.settings.error import SettingsError


@dataclass(frozen=True, eq=False)
class Option:
    """A scheme for an exchange, and its predicted time."""

    scheme_plan: SchemePlan
    prediction: ExchangeTime


class Planner:
    """Plans exchanges of one boundary under any scheme; schemes that share blocks share the work.

    Args:
        boundary: boundary of the partition.
        memory_bytes: memory of the switch's aggregators.
        order: upload order of vertices.
        seed: seed of random choices.
        rates: rates of links, switch and hosts.
        lanes: lanes of an aggregator.
    """

    def __init__(
        self,
        boundary: Boundary,
        memory_bytes: int,
        order: str = "gamr",
        seed: int = 0,
        rates: Rates | None = None,
        lanes: int = LANES,
    ) -> None:
        self.boundary = boundary
        self.rates = rates or Rates()
        self._memory_bytes = memory_bytes
        self._order = order
        self._seed = seed
        self.lanes = lanes
        self._bases: dict[tuple[bool, bool, bool, int], Plan] = {}

    def adopt(self, scheme: Scheme, plan: Plan) -> None:
        """Take the blocks of ``plan`` for ``scheme``, and for others that would have the same."""
        self._bases[_blocks_of(scheme, plan.chunks)] = plan

    def option(self, scheme: Scheme, features: int) -> Option:
        """Plan the exchange of vectors of ``features`` values under ``scheme``.

        Raises:
            OfframpError: memory too small, vectors too long, or contributions that quantised values cannot hold.
        """
        chunks = scheme.chunks_a_round(features, self.lanes)
        key = _blocks_of(scheme, chunks)
        if key not in self._bases:
            self._bases[key] = base_plan(
                self.boundary, scheme, chunks, self._memory_bytes, self._order, self._seed, lanes=self.lanes
            )
        require_fan_in(self.boundary, scheme)
        base = self._bases[key]
        scheme_plan = plan_scheme(
            self.boundary,
            scheme,
            features,
            self._memory_bytes,
            self._order,
            self._seed,
            base=base,
            cost=lambda one: predict(one, self.rates).seconds,
            prices=PASS_SHARES if self.rates.free_forwarding else (0.0,),
            lanes=self.lanes,
        )
        return Option(scheme_plan, predict(scheme_plan, self.rates))

    def options(
        self, schemes: Iterable[Scheme], features: int, on_option: Callable[[Option], None] = lambda _: None
    ) -> list[Option]:
        """Options for those of ``schemes`` that can carry vectors of ``features`` values; ``on_option`` gets each.

        Raises:
            OfframpError: none can.
        """
        planned = []
        refusal: OfframpError | None = None
        for scheme in schemes:
            try:
                option = self.option(scheme, features)
            except OfframpError as error:
                refusal = refusal or error
                continue
            planned.append(option)
            on_option(option)
        if not planned:
            raise refusal or OfframpError("schemes: expected at least one")
        return planned


def _blocks_of(scheme: Scheme, chunks: int) -> tuple[bool, bool, bool, int]:
    """What decides on the blocks of a scheme, with a boundary, a memory and lanes."""
    return scheme.pairwise, scheme.balanced, scheme.binned, chunks


def fastest(options: Sequence[Option]) -> Option:
    """The option of least predicted time, the first among equals.

    If the hosts' own exchange is among them, an option with as many bits per value and more bytes on the wire comes
    after all others.
    """
    p2p = [option.scheme_plan for option in options if not option.scheme_plan.through_switch]

    def heavier(option: Option) -> bool:
        scheme_plan = option.scheme_plan
        return any(scheme_plan.wire_bytes > one.wire_bytes for one in p2p if one.scheme.bits == scheme_plan.scheme.bits)

    return min(options, key=lambda option: (heavier(option), option.prediction.seconds))


def require_fan_in(boundary: Boundary, scheme: Scheme) -> None:
    """Refuse quantised values if a field cannot hold the sum of a vertex's contributions.

    Raises:
        OfframpError: names the vertex and how many contributions there are.
    """
    if scheme.code_bits:
        return  # their fields are as wide as their sums
    count = boundary.r if scheme.pairwise else boundary.need
    # A partial sum may be rounded up by one level, beyond the levels that share the field.
    most = (1 << scheme.bits) - 1 - scheme.pairwise
    if scheme.bits < 32 and len(count) and count.max() > most:
        vertex = int(boundary.vertices[count.argmax()])
        raise SettingsError(
            "scheme",
            f"vertex {vertex} sums {int(count.max())} contributions, fields of {scheme.bits} bits "
            f"hold at most {most}; expected pairwise, or more bits",
            scheme,
        )


def renumbered(plan: Plan, first_block_id: int) -> Plan:
    """The plan with other Block_ids."""
    blocks = [replace(block, block_id=first_block_id + i) for i, block in enumerate(plan.blocks)]
    return replace(plan, blocks=blocks, first_block_id=first_block_id)
