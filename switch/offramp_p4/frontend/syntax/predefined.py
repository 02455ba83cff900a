# SPDX-License-Identifier: Apache-2.0
"""Macros that hold before a program says anything, as p4c and the C preprocessor that it calls set them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_ALWAYS: Final = {"__STDC__": "1", "__STDC_HOSTED__": "1", "__ASSEMBLER__": "1"}
_TOFINO: Final = {
    "__p4c__": "1",
    "__p4c_major__": "9",
    "__p4c_minor__": "13",
    "__p4c_patchlevel__": "4",
    "__p4c_version__": '"9.13.4"',
}
"""The version of p4c's Tofino back end; its other back ends define no such macro, and programs rely on that."""
_INCLUDE: Final = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:\w+/)*(\w+)\.p4[>\"]", re.MULTILINE)
_TARGETS: Final = {
    "v1model": {"__TARGET_BMV2__": "1"},
    "psa": {"__TARGET_BMV2__": "1"},
    "pna": {"__TARGET_BMV2__": "1"},
    "tna": {**_TOFINO, "__TARGET_TOFINO__": "1"},
    "t2na": {**_TOFINO, "__TARGET_TOFINO__": "2"},
}
"""Macros that the back end for an architecture defines."""


def predefined(text: str, given: Mapping[str, str]) -> dict[str, str]:
    """The macros of a program whose first file is ``text``; a target that ``given`` names is left to it.

    p4c is told the target by its caller. Here it follows from the architecture, read before anything is expanded,
    since programs choose their headers by the target: of several the first counts, and Tofino before Tofino 2.
    """
    if any(name.startswith("__TARGET_") for name in given):
        return {**_ALWAYS, **(_TOFINO if "__TARGET_TOFINO__" in given else {})}
    named = [name for name in _INCLUDE.findall(text) if name in _TARGETS]
    first = "tna" if named[:1] == ["t2na"] and "tna" in named else next(iter(named), "")
    return {**_ALWAYS, **_TARGETS.get(first, {})}
