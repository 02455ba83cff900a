# SPDX-License-Identifier: Apache-2.0
"""A v1model program as the JSON that bmv2's simple_switch executes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from offramp_p4.bmv2.write.document import Document

if TYPE_CHECKING:
    from offramp_p4 import ir

__all__ = ["to_json"]


def to_json(program: ir.Program) -> dict[str, Any]:
    """The document for ``program``.

    Raises:
        Unsupported: another architecture, or a construct that bmv2's format cannot express.
    """
    return Document(program).json()
