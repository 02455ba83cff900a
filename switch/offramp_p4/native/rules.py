# SPDX-License-Identifier: Apache-2.0
"""The rules of the emitter for all nodes, which are registered when this module is imported."""

from __future__ import annotations

from typing import Final

from offramp_p4.native import arithmetic, calls, headers, lvalues, statements, tables

RULES: Final = (arithmetic, calls, headers, lvalues, statements, tables)
