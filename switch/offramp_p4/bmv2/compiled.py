# SPDX-License-Identifier: Apache-2.0
"""Programs from files, compiled or not; and what p4c writes of one: bmv2's JSON and P4Info."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offramp_base.documents import read_bytes
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp_p4 import ir

MAX_DOCUMENT: Final = 256 << 20
"""Bytes of a JSON file."""
_TEXT, _BINARY, _JSON = "text", "binary", "json"
FORMATS: Final = {".txt": _TEXT, ".txtpb": _TEXT, ".p4info": _TEXT, ".bin": _BINARY, ".json": _JSON}
"""The form of a P4Info by the end of its file's name, as p4c knows them."""
_HEAD: Final = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n"


def load_program(
    path: str | Path, include: Sequence[Path] = (), defines: Mapping[str, str] | None = None
) -> ir.Program:
    """A program from P4 source, or from bmv2's JSON in a file that ends in ``.json``.

    Raises:
        OfframpError: it cannot be read, or is refused.
    """
    if Path(path).suffix != ".json":
        from offramp_p4.frontend import load

        return load(path, include=include, defines=defines)
    from offramp_p4.bmv2.read import from_json

    try:
        text = read_bytes(Path(path), MAX_DOCUMENT)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    return from_json(text, str(path))


def document_text(program: ir.Program) -> str:
    """bmv2's JSON of a program.

    Raises:
        OfframpError: bmv2's format cannot express it.
    """
    from offramp_p4.bmv2.write import to_json

    return json.dumps(to_json(program), indent=2) + "\n"


def p4info_form(path: Path, otherwise: str = _TEXT) -> str:
    """The form in which a P4Info goes to a file: ``text``, ``binary`` or ``json``."""
    return FORMATS.get(path.suffix, otherwise)


def p4info_bytes(info: Any, form: str) -> bytes:
    """A P4Info in one of its forms."""
    from google.protobuf import json_format, text_format

    from offramp_base.p4rt.schema import POOL

    if form == _BINARY:
        data: bytes = info.SerializeToString()
        return data
    if form == _JSON:
        return (json_format.MessageToJson(info, preserving_proto_field_name=True, descriptor_pool=POOL) + "\n").encode()
    if form == _TEXT:
        return (_HEAD + text_format.MessageToString(info, descriptor_pool=POOL)).encode()
    raise OfframpError(f"P4Info: form '{form}': expected text, binary or json")
