# SPDX-License-Identifier: Apache-2.0
"""Architecture of a document."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from offramp_p4_tools.bmv2.read.nodes import MAX_SIZE, JsonNode
from offramp_p4_tools.bmv2.read.pna import PnaReader
from offramp_p4_tools.bmv2.read.program import ProgramReader
from offramp_p4_tools.bmv2.read.psa import PsaReader
from offramp_p4_tools.bmv2.read.v1model import V1modelReader

VERSION: Final = 2
_BY_PARSER: Final[dict[str, Callable[..., ProgramReader]]] = {"ingress_parser": PsaReader, "main_parser": PnaReader}
"""Readers by the name of a parser that only documents of their architecture contain."""


def reader_of(document: JsonNode) -> Callable[[str, Any | None], ProgramReader]:
    """The reader of a document's architecture, which takes the name of its file and its P4Info."""
    if not isinstance(document.value, dict):
        document.fail("expected an object")
    _check_version(document)
    for parser in document.each("parsers"):
        reader = _BY_PARSER.get(parser["name"].text)
        if reader is not None:
            return partial(reader, document)
    return partial(V1modelReader, document)


def _check_version(document: JsonNode) -> None:
    if "__meta__" in document and "version" in document["__meta__"]:
        version = document["__meta__"]["version"]
        major = version[0].number(0, MAX_SIZE)
        if major != VERSION:
            version.fail(f"version {major} of the format; this switch reads version {VERSION}")
