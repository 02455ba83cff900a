# SPDX-License-Identifier: Apache-2.0
"""Values of the command line without pydantic, whose import takes longer than most commands do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

_SAME: Final = (bool, int, float, Path)
"""Types whose values, such as defaults and flags, are final."""

_P = TypeVar("_P")


class _SparingParam:
    """Takes values that need no conversion, and has typer convert the others."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as typer's own conversion gives it."""
        many = param.multiple or param.nargs == -1
        if value is None:
            return () if many else None
        annotation = param.type_descriptor.annotation
        texts = annotation is str or (many and getattr(annotation, "__args__", None) == (str,))
        if many and isinstance(value, list | tuple) and texts and all(map(_is_plain_text, value)):
            return list(value)
        if not many and ((texts and _is_plain_text(value)) or (annotation in _SAME and type(value) is annotation)):
            return value
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _is_plain_text(value: object) -> bool:
    """Whether a value is a text that pydantic would take as it is: one that UTF-8 can write."""
    if type(value) is not str:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def spared(params: Iterable[_P]) -> list[_P]:
    """The parameters of a command, of which those of a typer that converts by pydantic do so only where they must."""
    out = list(params)
    for param in out:
        if getattr(param, "_runtime_param", param) is None:
            param._runtime_param = _SparingParam()  # type: ignore[attr-defined]
    return out
