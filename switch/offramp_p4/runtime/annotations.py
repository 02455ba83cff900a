# SPDX-License-Identifier: Apache-2.0
"""Annotations of a P4 program as P4Info carries them (P4Runtime specification, section 6.1)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offramp_p4.ir import Annotations
    from offramp_p4.types import Annotation

# Represented by fields of their own.
_ELSEWHERE = frozenset({"name", "id", "brief", "description"})


def annotate(message: Any, annotations: Annotations, *, leave_out: Collection[str] = ()) -> None:
    """Add annotations to a P4Info message, and ``@brief`` and ``@description`` as its documentation."""
    for note in annotations.values():
        if note.kv or getattr(note, "structured", False):
            _structured(message.structured_annotations.add(name=note.name), note)
        elif note.name not in _ELSEWHERE and note.name not in leave_out:
            message.annotations.append(_text(note))
    if "doc" in message.DESCRIPTOR.fields_by_name:
        for name in ("brief", "description"):
            if name in annotations:
                setattr(message.doc, name, str(annotations[name].args[0]))


def _text(note: Annotation) -> str:
    if not note.args:
        return f"@{note.name}"
    return f"@{note.name}({', '.join(_literal(a) for a in note.args)})"


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _structured(preamble: Any, note: Annotation) -> None:
    for key, value in note.kv:
        _set(preamble.kv_pair_list.kv_pairs.add(key=key).value, value)
    for value in note.args:
        _set(preamble.expression_list.expressions.add(), value)


def _set(expression: Any, value: object) -> None:
    if isinstance(value, bool):
        expression.bool_value = value
    elif isinstance(value, int):
        expression.int64_value = value
    else:
        expression.string_value = str(value)


def control_name(name: str, annotations: Annotations) -> str:
    """The name the control plane sees: ``@name`` or the source's."""
    note = annotations.get("name")
    return str(note.args[0]) if note is not None and note.args else name
