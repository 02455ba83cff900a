# SPDX-License-Identifier: Apache-2.0
"""A program as the JSON that bmv2's simple_switch, psa_switch or pna_nic executes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from offramp_p4.ir import CompiledProgram
from offramp_p4.source import Unsupported
from offramp_p4_tools.bmv2.write.document import Document
from offramp_p4_tools.bmv2.write.pna import PnaDocument
from offramp_p4_tools.bmv2.write.psa import PsaDocument
from offramp_p4_tools.bmv2.write.v1model import V1modelDocument

if TYPE_CHECKING:
    from offramp_p4 import ir

__all__ = ["bmv2_text", "calculations", "document_text", "to_json"]

_DOCUMENTS: Final[dict[str, Callable[[ir.Program], Document]]] = {
    "V1Switch": V1modelDocument,
    "PSA_Switch": PsaDocument,
    "PNA_NIC": PnaDocument,
}
"""The documents by the types of ``main``."""


def to_json(program: ir.Program) -> dict[str, Any]:
    """The document for ``program``.

    Raises:
        Unsupported: another architecture, or a construct that bmv2's format cannot express.
    """
    return _document(program).json()


def calculations(program: ir.Program) -> dict[str, list[ir.ExternCall]]:
    """The calls that compute each calculation of a program's document, by the calculation's name.

    Raises:
        Unsupported: as for :func:`to_json`.
    """
    if isinstance(program, CompiledProgram):
        return program.calculations
    document = _document(program)
    document.json()
    return document.externs.calls


def _document(program: ir.Program) -> Document:
    main = program.main
    if main.type_name not in _DOCUMENTS:
        known = ", ".join(_DOCUMENTS)
        raise Unsupported(main.pos, f"architecture {main.type_name} ({known} are) in bmv2's JSON")
    return _DOCUMENTS[main.type_name](program)


def bmv2_text(program: ir.Program) -> str:
    """bmv2's JSON of a program, as text.

    Raises:
        OfframpError: bmv2's format cannot express it.
    """
    return json.dumps(to_json(program), indent=2) + "\n"


def document_text(program: ir.Program) -> str:
    """The document that bmv2's clients know a program by: the one that it was read from, else the one written here.

    Raises:
        OfframpError: bmv2's format cannot express it.
    """
    return program.source if isinstance(program, CompiledProgram) else bmv2_text(program)
