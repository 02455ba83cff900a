# SPDX-License-Identifier: Apache-2.0
"""The fastest algorithm, protocol and number of channels for every size of a dimension's collectives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from offramp.themis.kinds import Collective
from offramp.themis.nccl import GpuInterconnect, Nccl, NcclAlgorithm, NcclCall, NcclProtocol
from offramp.themis.network import Network
from offramp_base.errors import OfframpError

MOST_BYTES: Final = 1 << 50
"""Size beyond which nothing changes."""

COLLECTIVES: Final = (Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALL_REDUCE)
"""The collectives that the tuner covers."""


class TunerChoice(NamedTuple):
    """What one size of communicator does with one collective in a range of sizes.

    Attributes:
        ranks, nodes: GPUs of the communicator, and machines that they are in.
        collective: which collective.
        least, most: first and last size in bytes, of the larger of input and output.
        algorithm, protocol, channels: how it runs.
    """

    ranks: int
    nodes: int
    collective: Collective
    least: int
    most: int
    algorithm: NcclAlgorithm
    protocol: NcclProtocol
    channels: int


def tuner_choices(network: Network) -> list[TunerChoice]:
    """The choices for the communicators of all dimensions, which is what a plan's stages run in.

    Args:
        network: a network of NCCL calls (:meth:`Network.by_nccl`).

    Raises:
        OfframpError: another network, or two different dimensions whose communicators look the same to NCCL.
    """
    known: dict[tuple[int, int], Nccl] = {}
    for d in network.dimensions:
        if d.size == 1:
            continue
        if not isinstance(d.messages, Nccl):
            raise OfframpError(f"{network.name}: expected a network of NCCL calls")
        key = d.size, 1 if d.messages.hardware is GpuInterconnect.NVLINK else d.size
        if known.setdefault(key, d.messages) != d.messages:
            raise OfframpError(
                f"{network.name}: two dimensions of {d.size} GPUs: a tuner cannot tell their communicators apart; "
                "expected different sizes or equal links"
            )
    rows = []
    for (ranks, nodes), model in known.items():
        for collective in COLLECTIVES:
            for least, most, call in _ranges(model, collective, ranks):
                rows.append(TunerChoice(ranks, nodes, collective, least, most, *call[1:]))
    return rows


def _ranges(model: Nccl, collective: Collective, ranks: int) -> Iterator[tuple[int, int, NcclCall]]:
    """Ranges of sizes and the fastest call in each.

    Between two powers of two the time of each way is a line, so the fastest time is concave: what is fastest at both
    ends is so throughout.
    """
    plateau = math.ceil(model.constants["ringPlateauBytes"] * model.channels * ranks)
    cuts = sorted({0, plateau, MOST_BYTES, *(64 << k for k in range(MOST_BYTES.bit_length() - 6))})

    def best(size: int) -> NcclCall:
        return min(model.choices(collective, size, ranks))

    def changes(first: int, last: int) -> Iterator[int]:
        """Sizes above ``first``, up to ``last``, at which the choice is another one."""
        if best(first)[1:] == best(last)[1:]:
            return
        if last - first == 1:
            yield last
            return
        middle = (first + last) // 2
        yield from changes(first, middle)
        yield from changes(middle, last)

    starts = [0]
    for first, end in pairwise(cuts):
        if best(first)[1:] != best(starts[-1])[1:]:
            starts.append(first)
        starts += changes(first, end - 1)
    for start, end in zip(starts, [*starts[1:], MOST_BYTES + 1], strict=True):
        yield start, end - 1, best(start)
