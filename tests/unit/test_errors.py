# SPDX-License-Identifier: Apache-2.0
"""Messages of errors quote strangers, and are safe to print."""

from __future__ import annotations

import pytest

from offramp_base.errors import MultilineError, OfframpError, first_line


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("\x1b[2Jgone", r"\x1b[2Jgone"),
        ("\x9b31m", r"\x9b31m"),
        ("\ud800", r"\ud800"),
        ("\u202ereversed", r"\u202ereversed"),
        ("a\x00b\rc", r"a\x00b\rc"),
        ("x: is fine\nall is well", r"x: is fine\nall is well"),
        ("Grüße, 世界", "Grüße, 世界"),
    ],
)
def test_a_message_is_one_line_that_a_terminal_only_prints(quoted: str, shown: str) -> None:
    assert str(OfframpError(f"field {quoted}: expected a name")) == f"field {shown}: expected a name"
    str(OfframpError(quoted)).encode()


def test_lines_of_source_stay_lines() -> None:
    assert str(MultilineError("a.p4:1:2: error\n\tx\x1b\n\t^")) == "a.p4:1:2: error\n\tx\\x1b\n\t^"


def test_a_long_quotation_is_cut() -> None:
    message = str(OfframpError("x" * 10**6))
    assert len(message) < 4100
    assert message.endswith("… (996000 more characters)")


def test_of_another_librarys_error_the_first_line_or_its_class_is_said() -> None:
    assert first_line(ValueError("one\ntwo")) == "one"
    assert first_line(EOFError()) == "EOFError"
    assert first_line(KeyError("\n")) == repr("\n")
    assert first_line(ValueError("\nlate")) == "ValueError"
