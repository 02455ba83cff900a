# SPDX-License-Identifier: Apache-2.0
"""Programs from files: P4 source, or compiled by p4c."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp_p4 import ir

MAX_DOCUMENT: Final = 256 << 20
"""Largest compiled program, in bytes."""


def load_program(
    path: str | Path, include: Sequence[Path] = (), defines: Mapping[str, str] | None = None
) -> ir.Program:
    """A program from P4 source, or from bmv2's JSON in a file that ends in ``.json``.

    Raises:
        OfframpError: it cannot be read, or is refused.
    """
    if Path(path).suffix != ".json":
        from offramp_p4.kept_programs import kept_program

        return kept_program(path, include, defines)
    from offramp_base.documents import read_bytes
    from offramp_p4.extensions import FORMATS, extension
    from offramp_p4.kept_programs import kept_compiled

    try:
        text = read_bytes(Path(path), MAX_DOCUMENT)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    return kept_compiled(path, text, extension(FORMATS, "json"))
