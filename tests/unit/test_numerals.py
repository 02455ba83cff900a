# SPDX-License-Identifier: Apache-2.0
"""Whole numbers in texts are ASCII digits that int64 holds."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.settings.units import BITS_PER_SECOND, BYTES
from offramp_p4.settings import parse_port
from offramp_sim.leo.study import parse_rule


def test_whole_numbers() -> None:
    assert whole_number("007") == 7
    assert whole_number("9" * 18) == 10**18 - 1


@pytest.mark.parametrize("text", ["", "-1", "+1", " 1", "1_0", "\u00b2", "\u0663", "9" * 19, "9" * 5000, "1e3", "0x1"])
def test_what_python_takes_and_people_do_not_mean(text: str) -> None:
    assert whole_number(text) is None


@pytest.mark.parametrize("digits", ["\u0663", "\u00b2", "9" * 5000])
def test_arguments_are_refused_in_one_line(digits: str) -> None:
    for parse in (
        lambda: parse_port(f"{digits}@veth1"),
        lambda: parse_rule(f"exact:{digits}", []),
        lambda: BYTES.parse(f"{digits}MB"),
        lambda: BITS_PER_SECOND.parse(f"{digits}mbit"),
    ):
        with pytest.raises((OfframpError, ValueError)):
            parse()
