# SPDX-License-Identifier: Apache-2.0
"""The pipes of a TNA program: for each, the parser, control and deparser of ingress and of egress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from offramp_p4 import ir
from offramp_p4.architecture import TNA
from offramp_p4.source import Unsupported

_MAX_PIPES: Final = 4


@dataclass(frozen=True, slots=True)
class Gress:
    """One direction of a pipe. More than one parser: one for each channel."""

    parsers: tuple[ir.ParserInstance, ...]
    control: ir.ControlInstance
    deparser: ir.ControlInstance

    @property
    def blocks(self) -> list[ir.ParserInstance | ir.ControlInstance]:
        """All of them."""
        return [*self.parsers, self.control, self.deparser]


@dataclass(frozen=True, slots=True)
class Pipe:
    """The program of one pipe."""

    name: str
    ingress: Gress
    egress: Gress


def pipes(program: ir.Program) -> list[Pipe]:
    """The pipes of ``program``, in order.

    Raises:
        Unsupported: it is not a TNA program, or has a ghost thread.
    """
    main = program.main
    if main.type_name not in TNA.packages:
        raise Unsupported(main.pos, f"architecture {main.type_name}")
    packages = [main.args.get(f"pipe{i}") for i in range(_MAX_PIPES)]
    pipelines = [_pipe(package) for package in packages if isinstance(package, ir.PackageInstance)]
    if not pipelines:
        raise Unsupported(main.pos, f"architecture {main.type_name}, which is not Tofino's")
    return pipelines


def _pipe(package: ir.PackageInstance) -> Pipe:
    if package.args.get("ghost") is not None:
        raise Unsupported(package.pos, "a ghost thread")
    args = package.args
    if package.type_name == "MultiParserPipeline":
        ingress, egress = _parsers(args["ig_prsr"]), _parsers(args["eg_prsr"])
    else:
        ingress, egress = _parsers(args["ingress_parser"]), _parsers(args["egress_parser"])
    return Pipe(
        package.name,
        Gress(ingress, _control(args["ingress"]), _control(args["ingress_deparser"])),
        Gress(egress, _control(args["egress"]), _control(args["egress_deparser"])),
    )


def _parsers(arg: object) -> tuple[ir.ParserInstance, ...]:
    if isinstance(arg, ir.PackageInstance):
        return tuple(p for p in arg.args.values() if isinstance(p, ir.ParserInstance))
    assert isinstance(arg, ir.ParserInstance)
    return (arg,)


def _control(arg: object) -> ir.ControlInstance:
    assert isinstance(arg, ir.ControlInstance)
    return arg
