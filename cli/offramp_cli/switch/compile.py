# SPDX-License-Identifier: Apache-2.0
"""``offramp switch compile``: bmv2's JSON, P4Info and ``bf-rt.json`` of a program, as p4c makes them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field
from offramp_cli.command import command
from offramp_cli.result import OUTPUT

if TYPE_CHECKING:
    from offramp_p4.program_source import ProgramSource


@dataclass(frozen=True)
class CompileOutput:
    """Files to write."""

    out: Annotated[
        Path | None, Field("File for bmv2's JSON", short="-o", group=OUTPUT, aliases=("output",), written=True)
    ] = None
    p4runtime_files: Annotated[
        tuple[str, ...],
        Field("File for the P4Info: text, or binary or JSON if it ends in .bin or .json; repeatable", group=OUTPUT),
    ] = ()
    bf_rt_schema: Annotated[
        Path | None, Field("File for BF-RT's description of a TNA program, bf-rt.json", group=OUTPUT, written=True)
    ] = None


@command("offramp_p4.program_source:ProgramSource", CompileOutput, example="switch compile program.p4 -o program.json")
def compile(source: ProgramSource, files: CompileOutput) -> None:  # noqa: A001
    """Compile a v1model, PSA or PNA program for bmv2, or describe any program's tables.

    The JSON runs on simple_switch, psa_switch or pna_nic, and on this switch.
    """
    from offramp_p4_tools import write_outputs

    infos = [Path(name) for text in files.p4runtime_files for name in text.split(",")]
    write_outputs(source.load(), files.out, infos, bfrt=files.bf_rt_schema)


def _without_p4c(words: list[str]) -> list[str]:
    """The words without p4c's options that mean nothing here, which standard error names once."""
    from offramp_p4_tools.dropin.p4c import take_foreign

    return take_foreign(words, "offramp switch compile")


compile.rewrite = _without_p4c
