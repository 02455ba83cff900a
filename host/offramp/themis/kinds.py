# SPDX-License-Identifier: Apache-2.0
"""Collectives, and the kinds of connection between the NPUs of a dimension (paper section 2, table 1)."""

from __future__ import annotations

from enum import StrEnum

from offramp_base.errors import OfframpError


class Collective(StrEnum):
    """A collective, or one stage of it on one dimension."""

    REDUCE_SCATTER = "reduce-scatter"
    ALL_GATHER = "all-gather"
    ALL_REDUCE = "all-reduce"
    ALL_TO_ALL = "all-to-all"

    @classmethod
    def named(cls, name: str) -> Collective:
        """The collective called ``name``.

        Raises:
            OfframpError: there is no such collective.
        """
        try:
            return cls(name)
        except ValueError:
            raise OfframpError(f"collective '{name}': expected one of {', '.join(cls)}") from None


class DimensionTopology(StrEnum):
    """The connection between the NPUs of a dimension, which determines the algorithm (table 1)."""

    RING = "ring"
    FULLY_CONNECTED = "fully-connected"
    SWITCH = "switch"
    IN_NETWORK = "in-network"
    """A switch that sums in passing (SHARP, SwitchGNN's aggregators): an all-reduce is one pass up and down."""


_SPELLINGS = {
    **{kind.value: kind for kind in DimensionTopology},
    "fullyconnected": DimensionTopology.FULLY_CONNECTED,
    "fc": DimensionTopology.FULLY_CONNECTED,
    "sw": DimensionTopology.SWITCH,
    "innetwork": DimensionTopology.IN_NETWORK,
}


def kind_named(name: str) -> DimensionTopology:
    """The kind that ``name`` spells, in this project's or ASTRA-sim's way (``Ring``, ``FullyConnected``, ``Switch``).

    Raises:
        OfframpError: there is no such kind.
    """
    kind = _SPELLINGS.get(name.lower().replace("_", "-")) if isinstance(name, str) else None
    if kind is None:
        raise OfframpError(f"dimension type '{name}': expected one of {', '.join(DimensionTopology)}")
    return kind
