# SPDX-License-Identifier: Apache-2.0
"""The numbers that NCCL's tuner counts with: a table with their sources, which a user's file may replace in part."""

from __future__ import annotations

import math
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from offramp_base.documents import is_number, parse_yaml, read_text
from offramp_base.errors import OfframpError


class NcclConstants:
    """Numbers by their names in NCCL, each a number or a table; the same object compares equal to itself only."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    @classmethod
    def read(cls, path: Path | None = None) -> NcclConstants:
        """The package's table, with what a file of the same form replaces.

        Raises:
            OfframpError: names the file and the constant that is unknown or has another form.
        """
        if path is None:
            return _usual()
        try:
            return cls(_replaced(parse_yaml(read_text(path)), _usual()._values))
        except OfframpError as error:
            raise OfframpError(f"{path}: {error}") from None


def _replaced(rows: Any, usual: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(rows, dict):
        raise OfframpError("expected a table of constants")
    values = dict(usual)
    for name, row in rows.items():
        if name not in values:
            raise OfframpError(f"{name!s:.60}: expected one of {', '.join(values)}")
        value = row["value"] if isinstance(row, dict) and "value" in row else row
        values[name] = _like(value, values[name], str(name))
    return values


@cache
def _usual() -> NcclConstants:
    table = parse_yaml(files("offramp.themis").joinpath("nccl_constants.yaml").read_text("utf-8"))
    return NcclConstants({name: row["value"] for name, row in table.items()})


def _like(value: Any, usual: Any, where: str) -> Any:
    """``value`` if it has the form of ``usual``; of a table, a part replaces only that part."""
    if isinstance(usual, dict):
        if not isinstance(value, dict):
            raise OfframpError(f"{where}: expected a table with {', '.join(usual)}")
        unknown = next((key for key in value if key not in usual), None)
        if unknown is not None:
            raise OfframpError(f"{where}: {unknown!s:.60}: expected one of {', '.join(usual)}")
        return {key: _like(value[key], row, f"{where}: {key}") if key in value else row for key, row in usual.items()}
    if isinstance(usual, list):
        if not isinstance(value, list) or len(value) != len(usual):
            raise OfframpError(f"{where}: expected {len(usual)} numbers")
        return [_like(each, row, where) for each, row in zip(value, usual, strict=True)]
    if not is_number(value) or not math.isfinite(value) or value < 0:
        raise OfframpError(f"{where}: {value!r:.40}: expected a number of at least 0")
    return value
