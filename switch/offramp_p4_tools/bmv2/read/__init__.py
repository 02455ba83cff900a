# SPDX-License-Identifier: Apache-2.0
"""bmv2's JSON as a program: what p4c and its forks compiled, for our engines to execute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from offramp_base.documents import parse_json
from offramp_base.errors import OfframpError
from offramp_p4.source import Pos, Unsupported
from offramp_p4_tools.bmv2.read.kinds import reader_of
from offramp_p4_tools.bmv2.read.nodes import JsonError, JsonNode
from offramp_p4_tools.bmv2.read.translated import translated_types

if TYPE_CHECKING:
    from offramp_p4 import ir

__all__ = ["JsonError", "from_json"]

_DEEPEST: Final = 400
"""A level of an expression of P4 takes three of JSON."""


def from_json(text: str | bytes, file: str, p4info: Any | None = None) -> ir.Program:
    """Read a program from the text of a document: of v1model, PSA or PNA, as its parsers and metadata say.

    Args:
        text: JSON, in version 2 of bmv2's format.
        file: its name, for messages.
        p4info: the P4Info that belongs to it, if there is one: it says which tables the control plane sees, and which
            of their keys are ``optional``, which bmv2 has as ``ternary``.

    Raises:
        OfframpError: one line that says what is refused, and where in the document.
    """
    try:
        program = reader_of(JsonNode(parse_json(text, _DEEPEST), ""))(file, p4info).read()
    except RecursionError:
        raise OfframpError(f"{file}: the document is nested too deeply") from None
    except Unsupported as error:
        raise OfframpError(f"{file}: {error.message}") from None
    except OfframpError as error:
        raise JsonError(f"{file}: {error}") from None
    if p4info is not None:
        program.types.update(translated_types(p4info, program))
    program.main.pos = Pos(file, 0, 0)
    program.source = text if isinstance(text, str) else text.decode()
    return program
