# SPDX-License-Identifier: Apache-2.0
"""The division of a vector into packets: chunks of as many lanes as an aggregator has, each as long as its content.

A chunk's packet has as many segments of 32 lanes as the chunk has features for. Only the last one of a vector may be
shorter, and a vector that fits one segment takes the same packet whatever the aggregators hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from offramp.graph.csr import IntArray
from offramp.switchgnn.wire import LANES, MOST_SEGMENTS, frame_bytes
from offramp_base.errors import OfframpError
from offramp_base.wire.ethernet import wire_bytes

MAX_CHUNKS = 255
WIDTHS = (LANES, 2 * LANES, MOST_SEGMENTS * LANES)
"""Lanes that an aggregator may have: those of one, two or four segments."""


def chunks_for(features: int, lanes: int = LANES) -> int:
    """Packets for a vertex of ``features`` int32 values, at most ``lanes`` in each (specification section 3.2).

    Raises:
        OfframpError: fewer than 1 feature or more than 255 packets hold.
    """
    if not 1 <= features <= MAX_CHUNKS * lanes:
        raise OfframpError(f"features {features}: expected 1 to {MAX_CHUNKS * lanes}")
    return -(-features // lanes)


def chunk_widths(features: int, chunks: int, lanes: int) -> IntArray:
    """``(chunks,)`` number of features in each chunk of a vector."""
    widths: IntArray = np.clip(features - lanes * np.arange(chunks), 0, lanes)
    return widths


def segments_for(widths: IntArray) -> IntArray:
    """Segments of packets with ``widths`` features, at least one."""
    return np.maximum(-(-widths // LANES), 1)


def vector_wire_bytes(features: int, lanes: int = LANES) -> int:
    """Link time in bytes of a vector's packets."""
    whole, rest = divmod(features, lanes)
    last = wire_bytes(frame_bytes(-(-rest // LANES))) if rest else 0
    return whole * wire_bytes(frame_bytes(lanes // LANES)) + last


def aggregator_bytes(lanes: int) -> int:
    """Bytes of memory of an aggregator: the payload of the longest packet."""
    return 4 * lanes


def lanes_for(widths: Iterable[int], choice: Collection[int] = WIDTHS) -> int:
    """Lanes per aggregator, among ``choice``, with which vectors of all ``widths`` take the fewest bytes.

    Among equals it is the fewest, so that aggregators of narrow vectors are not half empty.
    """
    wanted = list(widths)
    return min(sorted(choice), key=lambda lanes: sum(vector_wire_bytes(width, lanes) for width in wanted))
