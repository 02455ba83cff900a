# SPDX-License-Identifier: Apache-2.0
"""A console whose terminal obeys nothing that a file, a switch or a rank has said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Console

from offramp_base.arguments import visible

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType
    from rich.segment import Segment


class PlainConsole(Console):
    """rich's console, without markup and emoji codes in texts; control characters become visible."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"markup": False, "emoji": False, "highlight": False} | options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Parts of the output; only rich itself moves the cursor and sets colours."""
        for part in super().render(renderable, options):
            yield part if part.control else part._replace(text=visible(part.text))
