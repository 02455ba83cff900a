# SPDX-License-Identifier: Apache-2.0
"""Objects from a peer: what is not described is refused, by name."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.listening.handshake import frame
from offramp_base.listening.objects import array, check_object, choice, integer, number, optional, parse_object, text

FIELDS = {
    "rows": integer(1, 64),
    "rate": number(0.5, 2.0),
    "name": text(3),
    "kind": choice("tcp", "shm"),
    "parts": array(integer(0, 9), 2),
    "note": optional(text(5)),
}
GOOD = {"rows": 64, "rate": 1, "name": "abc", "kind": "shm", "parts": [0, 9], "note": None}


def test_what_is_described_comes_out() -> None:
    checked = check_object(GOOD, FIELDS, "greeting")
    assert checked == GOOD
    assert type(checked["rate"]) is float
    without = {name: value for name, value in GOOD.items() if name != "note"}
    assert check_object(without, FIELDS, "greeting")["note"] is None
    edges = {**GOOD, "rows": 1, "rate": 0.5, "name": "", "kind": "tcp", "parts": [], "note": "12345"}
    assert check_object(edges, FIELDS, "greeting") == edges
    assert check_object({**GOOD, "rate": 2.0}, FIELDS, "greeting")["rate"] == 2.0


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("rows", (0, 65, "1", 1.0, True, None), "a whole number from 1 to 64"),
        ("rate", (0.4, 2.1, "1", True, None, float("nan")), "a number from 0.5 to 2"),
        ("name", ("abcd", "a\n", 5, None), "at most 3 printable characters"),
        ("kind", ("ucx", 1, ["tcp"], None), "one of tcp, shm"),
        ("parts", ([1, 2, 3], "12", {}, None), "a list of at most 2"),
        ("parts", ([10], [1, "2"]), "a whole number from 0 to 9"),
        ("note", ("123456", 5), "at most 5 printable characters"),
    ],
)
def test_a_field_of_another_kind_is_named(name: str, values: tuple[object, ...], expected: str) -> None:
    for value in values:
        with pytest.raises(OfframpError) as caught:
            check_object({**GOOD, name: value}, FIELDS, "greeting")
        assert str(caught.value) == f"greeting: field {name}: expected {expected}"


def test_a_field_that_nobody_knows_is_named_as_far_as_it_fits() -> None:
    with pytest.raises(OfframpError, match=f"^greeting: unknown field '{'x' * 40}'$"):
        check_object({**GOOD, "x" * 100: 1}, FIELDS, "greeting")


@pytest.mark.parametrize("raw", [b"", b"[]", b"1", b'{"a": 1, "a": 1}', b'{"a": NaN}', b"\xff{}", b"[" * 100_000])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(OfframpError, match=r"^greeting: expected a JSON object$"):
        parse_object(raw, "greeting")


def test_nothing_is_sent_that_would_be_refused() -> None:
    assert parse_object(frame({"a": 1})[4:], "greeting") == {"a": 1}
    with pytest.raises(ValueError, match="not JSON compliant"):
        frame({"a": float("nan")})
