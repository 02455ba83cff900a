# SPDX-License-Identifier: Apache-2.0
"""Requests for ``quantpack`` with the answers of Sylvie's model: every width, kind of bounds, length and row."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from offramp.device import Status
from offramp.sylvie import model

HEADER = struct.Struct("<BBHIQQ")
"""Bits, compact, columns, rows, number of the request, seed."""

NAN = 0x7FC00000
ODD = np.array([np.nan, np.inf, -np.inf, 3.4e38, -3.4e38], np.float32)


class Case(NamedTuple):
    """Rows, how they are quantised, and what the model makes of them."""

    bits: int
    compact: bool
    seed: int
    numbers: np.ndarray
    x: np.ndarray
    packed: np.ndarray
    bounds: np.ndarray  # (rows, 2) words
    wrong: np.ndarray
    values: np.ndarray

    @property
    def status(self) -> Status:
        return Status.FAILED if self.wrong.any() else Status.OK


def case(dice: random.Random, columns: int, rows: int, bits: int | None = None, *, odd: float = 0.0) -> Case:
    """Random rows of ``columns``; ``odd``: the share of requests with a row that cannot be quantised."""
    bits, compact, seed = bits or dice.choice((1, 2, 4, 8)), dice.random() < 0.5, dice.getrandbits(64)
    random = np.random.default_rng(dice.getrandbits(32))
    scales = 10.0 ** random.integers(-44, 38, (rows, 1)).astype(np.float64)
    with np.errstate(over="ignore"):
        offset = random.normal(size=(rows, 1)) * (random.random((rows, 1)) < 0.5)
        x = np.clip(random.normal(size=(rows, columns)) * scales + offset, -1.6e38, 1.6e38).astype(np.float32)
    x[random.random(x.shape) < 0.05] = random.choice(np.array([0.0, -0.0], np.float32))
    if rows and dice.random() < 0.2:
        x[0] = x[0, 0]  # a constant row
    if rows and dice.random() < odd:
        x[random.integers(rows), random.integers(columns)] = random.choice(ODD[:3])
    if rows and dice.random() < odd:
        x[random.integers(rows), :2] = ODD[3:][: x[0, :2].size]  # a range beyond float32
    return of_rows(bits, compact, seed, random.integers(0, 2**63, rows, np.int64), x)


def of_rows(bits: int, compact: bool, seed: int, numbers: np.ndarray, x: np.ndarray) -> Case:
    """The model's answer to rows."""
    with np.errstate(all="ignore"):
        least, greatest, wrong = model.bounds(x, compact)
        code = model.codes(x, numbers, bits, seed, least, greatest)
        code[wrong] = 0
        bounds = np.stack([least, greatest], 1).view(np.uint32)
        bounds[wrong] = NAN
        values = model.values(code, bits, *bounds.view(np.float32).T)
    values.view(np.uint32)[np.isnan(values)] = NAN
    return Case(bits, compact, seed, numbers, x, model.pack(code, bits), bounds, wrong, values)


def of_codes(bits: int, columns: int, packed: np.ndarray, bounds: np.ndarray) -> Case:
    """The model's answer to codes alone."""
    least, greatest = bounds.view(np.float32).T
    with np.errstate(all="ignore"):
        values = model.values(model.unpack(packed, bits, columns), bits, least, greatest)
    none = np.zeros(len(packed), np.int64)
    return Case(bits, False, 0, none, values, packed, bounds, none.astype(bool), values)


def quantise_request(wanted: Case, number: int, beat: int) -> bytes:
    """The packet, which ends with the last row's last value."""
    rows, columns = wanted.x.shape
    head = HEADER.pack(wanted.bits, wanted.compact, columns, rows, number, wanted.seed)
    groups = _groups(wanted.numbers.astype("<u8"), wanted.x, beat)
    parts = [part for words, values in groups for part in (words, *values)]
    return b"".join([head.ljust(beat, b"\0"), *_cut(parts, 4 * columns)])


def quantise_payload(wanted: Case, beat: int) -> bytes:
    """The answer before its completion."""
    groups = _groups(wanted.bounds, wanted.packed, beat)
    return b"".join(part for words, codes in groups for part in (*codes, words))


def dequantise_request(wanted: Case, number: int, beat: int) -> bytes:
    """The packet, which ends with the last row's last byte."""
    rows, columns = wanted.x.shape
    head = HEADER.pack(wanted.bits, 0, columns, rows, number, 0)
    parts = [part for words, codes in _groups(wanted.bounds, wanted.packed, beat) for part in (words, *codes)]
    return b"".join([head.ljust(beat, b"\0"), *_cut(parts, wanted.packed.shape[1])])


def dequantise_payload(wanted: Case, beat: int) -> bytes:
    """The answer before its completion."""
    return b"".join(part for _, values in _groups(wanted.bounds, wanted.values, beat) for part in values)


def _groups(words: np.ndarray, rows: np.ndarray, beat: int) -> list[tuple[bytes, list[bytes]]]:
    """Rows in whole beats, as many as 64-bit words fit a beat, with their words."""
    size, length = beat // 8, -(-rows[:1].nbytes // beat) * beat
    padded = [row.tobytes().ljust(length, b"\0") for row in rows]
    return [
        (words[at : at + size].tobytes().ljust(beat, b"\0"), padded[at : at + size]) for at in range(0, len(rows), size)
    ]


def _cut(parts: Sequence[bytes], length: int) -> list[bytes]:
    return [*parts[:-1], *(part[:length] for part in parts[-1:])]
