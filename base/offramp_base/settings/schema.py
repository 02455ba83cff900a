# SPDX-License-Identifier: Apache-2.0
"""Settings as a JSON Schema (draft 2020-12), for editors and for authors of settings files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from offramp_base.settings.field import REQUIRED, Declared, declared

_TYPES: Final = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}


def json_schema(title: str, classes: Sequence[type]) -> dict[str, Any]:
    """The JSON Schema of a file of settings whose keys are the fields of all ``classes``."""
    fields = [each for one in classes for each in declared(one)]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": {each.key: _property(each) for each in fields},
        "required": [each.key for each in fields if each.default is REQUIRED],
        "additionalProperties": False,
    }


def _property(each: Declared) -> dict[str, Any]:
    field = each.field
    kinds = [_TYPES.get(each.kind, "string")]  # a kind of its own is parsed from text
    if (field.unit or field.parse) and "string" not in kinds:
        kinds.append("string")
    value: dict[str, Any] = {}
    if field.options() and not field.besides:
        value["enum"] = list(field.options())
    bounds = ("minimum", field.least), ("maximum", field.most)
    exclusive = ("exclusiveMinimum", field.above), ("exclusiveMaximum", field.below)
    bare = field.unit.bare if field.unit else 1
    value |= {name: bound if bare == 1 else bound / bare for name, bound in (*bounds, *exclusive) if bound is not None}
    if each.many:
        value = {"items": {"type": kinds[0], **value}}
        kinds = ["array", *(["string"] if field.parse else [])]
    if each.optional:
        kinds.append("null")
        if "enum" in value:
            value["enum"] = [*value["enum"], None]
    schema: dict[str, Any] = {"description": field.help, "type": kinds[0] if len(kinds) == 1 else kinds, **value}
    if field.unit:
        schema["description"] += f" In {field.unit.name}."
    if each.default is not REQUIRED:
        schema["default"] = each.default if isinstance(each.default, str | int | float | None) else _plain(each.default)
        if bare > 1 and each.default is not None:
            schema["default"] = each.default / bare
    return schema


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple | list | Mapping) else str(value)
