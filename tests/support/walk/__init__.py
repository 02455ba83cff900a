# SPDX-License-Identifier: Apache-2.0
"""Walks: the product's functions that one call passes, in order, and the files that a reader of it has to open.

``python -m support.walk NAME`` in ``tests`` prints a walk. A module of this package is one subject: its name is the
command's argument, and its ``walks()`` returns the walks by their names. ``tests/unit/test_walks.py`` keeps them short.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ROOT: Final = Path(__file__).parents[3]
PRODUCTS: Final = tuple(f"{ROOT / folder}/" for folder in ("base", "switch", "host", "sim", "cli"))
"""Folders of the product's packages; calls of anything else are not counted."""


@dataclass
class Walk:
    """Calls of Python functions of the product, in order; a comprehension, or a step of a generator, is a call.

    Attributes:
        steps: file, relative to the repository, and qualified name of each called function.
        classes: calls in which an argument is an instance of each of the product's classes.
        forms: names of the classes through which a plan goes on its way here, where a subject has one.
    """

    steps: list[tuple[str, str]] = field(default_factory=list)
    classes: Counter[type] = field(default_factory=Counter)
    forms: list[str] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """Number of calls."""
        return len(self.steps)

    @cached_property
    def files(self) -> list[str]:
        """Files in the order in which they are entered first."""
        return list(dict.fromkeys(file for file, _ in self.steps))

    @property
    def changes(self) -> int:
        """Consecutive calls of functions in different files."""
        return sum(a[0] != b[0] for a, b in zip(self.steps, self.steps[1:], strict=False))

    def as_dict(self) -> dict[str, Any]:
        """The counts, the files, the forms and the steps, for JSON."""
        steps = [f"{file}:{name}" for file, name in self.steps]
        return {"calls": self.calls, "files": self.files, "changes": self.changes, "forms": self.forms, "steps": steps}


def walk(function: Callable[[], object]) -> Walk:
    """The walk of one call in this thread; the counts are of this call alone, so warm up caches and imports first."""
    result = Walk()

    def enter(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PRODUCTS):
            return
        result.steps.append((str(Path(code.co_filename).relative_to(ROOT)), code.co_qualname))
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        classes = {type(frame.f_locals[name]) for name in names if name in frame.f_locals}
        result.classes.update(cls for cls in classes if cls.__module__.partition(".")[0].startswith("offramp"))

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        function()
    finally:
        sys.setprofile(before)
    return result
