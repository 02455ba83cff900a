# SPDX-License-Identifier: Apache-2.0
"""Results of a doctor: one line for each thing that a machine has or lacks."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """One line: whether something is there, what was found, and what to do if not; ``needed`` is False for extras."""

    name: str
    ok: bool
    found: str
    advice: str = ""
    needed: bool = False
