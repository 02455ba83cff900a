# SPDX-License-Identifier: Apache-2.0
"""P4Info as a file, in the forms that p4c writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from offramp_base.errors import OfframpError

_TEXT, _BINARY, _JSON = "text", "binary", "json"
_FORMS: Final = {".txt": _TEXT, ".txtpb": _TEXT, ".p4info": _TEXT, ".bin": _BINARY, ".json": _JSON}
"""The form of a P4Info by the suffix of its file, as p4c knows them."""
_HEAD: Final = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n"


def p4info_form(path: Path, otherwise: str = _TEXT) -> str:
    """The form in which a P4Info goes to a file: ``text``, ``binary`` or ``json``."""
    return _FORMS.get(path.suffix, otherwise)


def p4info_bytes(info: Any, form: str) -> bytes:
    """A P4Info in one of its forms.

    Raises:
        OfframpError: there is no such form.
    """
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
