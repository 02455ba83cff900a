# SPDX-License-Identifier: Apache-2.0
"""A LEO rule: the last of the paths that a request may take."""

from __future__ import annotations

from offramp.leo.selection.layout import SelectorState
from offramp_base.native.subset import highest_bit, native


@native
def last_path(selector: SelectorState) -> int:
    """The highest bit of the paths that are open."""
    return highest_bit(selector.asked_paths)
