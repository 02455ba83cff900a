# SPDX-License-Identifier: Apache-2.0
"""Action profiles of the architectures that bmv2's JSON is written for."""

from __future__ import annotations

from typing import Final

SELECTORS: Final = frozenset({"action_selector", "ActionSelector"})
"""The externs that are action profiles with a selector."""
