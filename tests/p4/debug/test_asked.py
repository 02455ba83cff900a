# SPDX-License-Identifier: Apache-2.0
"""Arguments of a debugger's requests at the edges of what is taken."""

from __future__ import annotations

import pytest

from offramp_base.errors import OfframpError
from offramp_p4_tools.debug.asked import _MAX_LIST, _MAX_TEXT, RequestArguments


def test_texts_up_to_the_longest_are_taken() -> None:
    longest = "x" * _MAX_TEXT
    assert RequestArguments({"a": [longest, ""]}, "r").texts("a") == [longest, ""]
    assert RequestArguments({}, "r").texts("a") == []
    for wrong in ([longest + "x"], ["a\0"], [1], "text", [""] * (_MAX_LIST + 1)):
        with pytest.raises(OfframpError):
            RequestArguments({"a": wrong}, "r").texts("a")
    assert len(RequestArguments({"a": [""] * _MAX_LIST}, "r").texts("a")) == _MAX_LIST
