# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offramp_base.errors import OfframpError
from offramp_base.wire.fields import HeaderFormat

ODD = HeaderFormat("odd", {"a": 3, "b": 13, "c": 1, "d": 48, "e": 7, "f": 56})


@settings(derandomize=True)
@given(st.lists(st.tuples(*(st.integers(0, field.mask) for field in ODD.fields)), min_size=1, max_size=5))
def test_pack_is_the_concatenation_of_the_bits(rows: list[tuple[int, ...]]) -> None:
    columns = {
        f.name: np.array(column, np.uint64) for f, column in zip(ODD.fields, zip(*rows, strict=True), strict=True)
    }
    packed = ODD.pack(columns, len(rows))
    for row, got in zip(rows, packed, strict=True):
        bits = "".join(f"{value:0{field.width}b}" for field, value in zip(ODD.fields, row, strict=True))
        assert got.tobytes() == int(bits, 2).to_bytes(ODD.size, "big")
        values = dict(zip(columns, row, strict=True))
        assert ODD.encode(values) == got.tobytes()
        assert ODD.decode(got.tobytes()) == values
    for name, column in columns.items():
        assert ODD.unpack(packed, name).tolist() == column.tolist()


def test_scalars_fill_every_row_and_absent_fields_are_zero() -> None:
    packed = ODD.pack({"b": 5}, 3)
    assert ODD.unpack(packed, "b").tolist() == [5, 5, 5]
    assert ODD.unpack(packed, "d").tolist() == [0, 0, 0]


def test_whole_numbers_and_others_read_alike_from_rows_of_any_layout() -> None:
    """Fields that are numbers in memory take another way than the others."""
    mixed = HeaderFormat("mixed", {"whole8": 8, "half": 4, "rest": 4, "whole16": 16, "whole32": 32, "three": 24})
    rng = np.random.default_rng(2)
    values = {field.name: rng.integers(0, field.mask + 1, 50) for field in mixed.fields}
    packed = mixed.pack(values, 50)
    rows = list(zip(*(column.tolist() for column in values.values()), strict=True))
    assert [row.tobytes() for row in packed] == [mixed.encode(dict(zip(values, row, strict=True))) for row in rows]
    apart = np.zeros((50, 2 * mixed.size), np.uint8)
    apart[:, ::2] = packed
    for layout in (packed, np.asfortranarray(packed), apart[:, ::2], packed[::-1][::-1]):
        for name, column in values.items():
            assert mixed.unpack(layout, name).tolist() == column.tolist()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"a": 8}, "header odd: field a: expected 0 to 7"),
        ({"a": -1}, "header odd: field a: expected 0 to 7"),
        ({"z": 0}, "header odd: no field z"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, int], message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        ODD.pack(values, 1)
    with pytest.raises(OfframpError, match=message):
        ODD.encode(values)


def test_a_short_header_is_refused() -> None:
    with pytest.raises(OfframpError, match="header odd: expected 16 bytes, got 3"):
        ODD.decode(b"abc")


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        ({"a": 0}, "field a: expected 1 to 56 bits, got 0"),
        ({"a": 57}, "field a: expected 1 to 56 bits, got 57"),
        ({"a": 3}, "expected whole bytes, got 3 bits"),
    ],
)
def test_a_malformed_format_is_refused(widths: dict[str, int], message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        HeaderFormat("h", widths)
