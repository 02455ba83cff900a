# SPDX-License-Identifier: Apache-2.0
"""Building a worker's frames from its features, and adding received ones to its sums, in machine code.

Written in the part of Python that :mod:`offramp_base.native` compiles. Both kernels do what nearly every packet needs;
a batch in which anything is unusual is left, untouched, to :mod:`offramp.switchgnn.reception`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp.switch_packets import PREFIX_BYTES
from offramp.switchgnn.wire import IP_PROTOCOL, LANES, MOST_SEGMENTS, SHORT_FRAME_BYTES, SWITCHGNN
from offramp_base.errors import OfframpError
from offramp_base.native.records import Record
from offramp_base.native.subset import Bytes, Ints, Words, copy, inlined, native
from offramp_base.wire.ethernet import ETHER_TYPE_IPV4, ETHERNET, IPV4

_AT = {name: PREFIX_BYTES + field.first for name, field in SWITCHGNN.by_name.items()}
_SRC_ID: Final = _AT["src_id"]
_DST_ID: Final = _AT["dst_id"]
_BLOCK_ID: Final = _AT["block_id"]
_COUNT: Final = _AT["count"]
_FLAGS: Final = _AT["is_ack"]
_CHUNK_ID: Final = _AT["chunk_id"]
_ROUND: Final = _AT["round"]
_UNLESS_DATA: Final = 0xD0
"""Flags that no DATA packet has: is_ack, is_fetch, resend."""
_ECN: Final = 5
"""Bit of the flags that reports congestion."""
_ETHER_TYPE: Final = ETHERNET.by_name["ether_type"].first
_IP: Final = ETHERNET.size
_FRAGMENT: Final = _IP + IPV4.by_name["frag_offset"].first
_PROTOCOL: Final = _IP + IPV4.by_name["protocol"].first
_IPV4: Final = ETHER_TYPE_IPV4
_VERSION: Final = 0x45
_OURS: Final = IP_PROTOCOL
_HEAD: Final = SHORT_FRAME_BYTES
_SEGMENT: Final = LANES
"""Lanes of a segment of the payload."""
_MORE: Final = SWITCHGNN.by_name["more"].shift
"""Shift of the number of segments after the first within the byte with the flags."""
_MOST_MORE: Final = MOST_SEGMENTS - 1
_NOBODY: Final = 0xFFFF_FFFF


class Features(Record):
    """The uploads of a worker in one round; ``k`` vertices of a block, ``n`` rows of ``features`` int32.

    Vertices, rows and fan-outs are ``(k,)``; ``heads`` are frames up to their payload, of one segment, of two and so
    on, complete except for vertex, count and chunk. A chunk has ``lanes`` features, a frame at most ``stride`` bytes.
    """

    vertices: Words
    rows: Words
    fan_out: Words
    values: Ints
    features: int
    chunks: int
    lanes: int
    stride: int
    heads: Bytes


class RoundSums(Record):
    """The sums that a worker collects in one round; cells are (vertex, chunk), ``sums`` ``(n, features)`` int64."""

    vertices: Words
    rows: Words
    need: Words
    count: int
    sums: Words
    features: int
    chunks: int
    lanes: int
    finished: Bytes
    marked: Bytes
    block_id: int
    round: int
    cells: Words


@inlined
def _put(at: Bytes, number: int) -> None:
    """Write 32 bits, most significant byte first."""
    at[0] = number >> 24
    at[1] = number >> 16
    at[2] = number >> 8
    at[3] = number


@inlined
def _word(at: Bytes) -> int:
    """Read 32 bits, unsigned, most significant byte first."""
    return at[0] << 24 | at[1] << 16 | at[2] << 8 | at[3]


@inlined
def _half(at: Bytes) -> int:
    return at[0] << 8 | at[1]


@inlined
def _width(features: int, chunk: int, lanes: int) -> int:
    """Number of features in a chunk."""
    width = features - chunk * lanes
    if width > lanes:
        return lanes
    if width < 0:
        return 0
    return width


@inlined
def _segments(width: int) -> int:
    """Segments of the packet of a chunk with ``width`` features."""
    if width == 0:
        return 1
    return (width + _SEGMENT - 1) // _SEGMENT


@native
def build_uploads(given: Features, cells: Words, count: int, frames: Bytes, lengths: Ints) -> int:
    """Write the frame of each of ``cells``, and its length; returns the number of features, without padding zeros."""
    carried = 0
    for i in range(count):
        frame = frames + i * given.stride
        vertex = cells[i] // given.chunks
        chunk = cells[i] % given.chunks
        width = _width(given.features, chunk, given.lanes)
        segments = _segments(width)
        copy(frame, given.heads + (segments - 1) * _HEAD, _HEAD)
        _put(frame + _SRC_ID, given.vertices[vertex])
        fan_out = given.fan_out[vertex]
        frame[_COUNT] = fan_out >> 8
        frame[_COUNT + 1] = fan_out
        frame[_CHUNK_ID] = chunk
        values = given.values + (given.rows[vertex] * given.features + chunk * given.lanes)
        lanes = frame + _HEAD
        for lane in range(width):
            _put(lanes + 4 * lane, values[lane])
        for lane in range(width, segments * _SEGMENT):
            _put(lanes + 4 * lane, 0)
        lengths[i] = _HEAD + 4 * segments * _SEGMENT
        carried += width
    return carried


@inlined
def _find(ids: Words, count: int, wanted: int) -> int:
    """Index of an id in an ascending array; -1 if it is not there."""
    low = 0
    high = count
    while low < high:
        middle = (low + high) >> 1
        if ids[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low < count and ids[low] == wanted:
        return low
    return -1


@inlined
def _cell(given: RoundSums, frame: Bytes, length: int) -> int:
    """The cell whose first RESULT a frame is; -1 for any other frame."""
    if length < _HEAD or _half(frame + _ETHER_TYPE) != _IPV4 or frame[_IP] != _VERSION:
        return -1
    if (_half(frame + _FRAGMENT) & 0x1FFF) != 0 or frame[_PROTOCOL] != _OURS:
        return -1
    if (frame[_FLAGS] & _UNLESS_DATA) != 0 or _word(frame + _SRC_ID) != _NOBODY:
        return -1
    if _half(frame + _BLOCK_ID) != given.block_id or _half(frame + _ROUND) != given.round:
        return -1
    chunk = frame[_CHUNK_ID]
    if chunk >= given.chunks:
        return -1
    segments = _segments(_width(given.features, chunk, given.lanes))
    if (frame[_FLAGS] >> _MORE & _MOST_MORE) != segments - 1 or length != _HEAD + 4 * segments * _SEGMENT:
        return -1
    vertex = _find(given.vertices, given.count, _word(frame + _DST_ID))
    if vertex < 0 or given.need[vertex] != _half(frame + _COUNT):
        return -1
    cell = vertex * given.chunks + chunk
    if given.finished[cell] != 0:
        return -1
    return cell


@native
def take_results(given: RoundSums, frames: Bytes, stride: int, lengths: Ints, count: int) -> int:
    """Add frames that are all first RESULTs of this round to their sums; returns the number of features in them.

    Otherwise -1, and nothing has changed. ``cells`` has the cell of each frame.
    """
    for i in range(count):
        cell = _cell(given, frames + i * stride, lengths[i])
        if cell < 0:
            for j in range(i):
                given.finished[given.cells[j]] = 0
            return -1
        given.finished[cell] = 1
        given.cells[i] = cell
    carried = 0
    for i in range(count):
        frame = frames + i * stride
        cell = given.cells[i]
        chunk = cell % given.chunks
        width = _width(given.features, chunk, given.lanes)
        sums = given.sums + (given.rows[cell // given.chunks] * given.features + chunk * given.lanes)
        lanes = frame + _HEAD
        for lane in range(width):
            number = _word(lanes + 4 * lane)
            sums[lane] = sums[lane] + ((number ^ 0x8000_0000) - 0x8000_0000)
        given.marked[cell] = frame[_FLAGS] >> _ECN & 1
        carried += width
    return carried


def filled(kind: type[Record], **words: int | npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """A record of numbers and of addresses of arrays, which the caller must keep alive as long as the record."""
    record = np.zeros(kind.WORDS, np.int64)
    for name, word in words.items():
        record[kind.PLACES[name].offset] = word.ctypes.data if isinstance(word, np.ndarray) else word
    return record


@cache
def kernels() -> dict[str, Callable[..., int]]:
    """Both kernels by name; empty if LLVM is not installed."""
    from offramp_base.native.library import compiled_all

    try:
        return compiled_all((build_uploads, take_results))
    except OfframpError:
        return {}
