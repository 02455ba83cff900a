# SPDX-License-Identifier: Apache-2.0
"""Options by which a command takes a P4 program: its file, and the preprocessor's macros and folders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base.settings.field import Field

if TYPE_CHECKING:
    from offramp_p4.ir import Program


def parse_macro(text: str) -> tuple[str, str]:
    """``NAME`` or ``NAME=VALUE``.

    Raises:
        ValueError: something else.
    """
    name, equals, value = text.partition("=")
    if not name.isidentifier():
        raise ValueError("expected NAME or NAME=VALUE")
    return name, value if equals else "1"


@dataclass(frozen=True)
class PreprocessorSettings:
    """Options of the preprocessor of a P4 program."""

    include: Annotated[tuple[str, ...], Field("Folder for #include; repeatable", short="-I")] = ()
    defines: Annotated[
        Mapping[str, str], Field("Macro, NAME or NAME=VALUE; repeatable", key="define", short="-D", item=parse_macro)
    ] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ProgramSource(PreprocessorSettings):
    """A P4 program."""

    program: Annotated[str, Field("P4-16 source, or bmv2's JSON", position=True)]

    def load(self) -> Program:
        """The program in its intermediate representation.

        Raises:
            OfframpError: it cannot be read, or is refused.
        """
        from offramp_p4.programs import load_program

        return load_program(self.program, [Path(folder) for folder in self.include], self.defines)
