# SPDX-License-Identifier: Apache-2.0
"""PSA: ingress and egress as a function each, and what goes from one to the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from offramp_base.native.llvm import I64, PTR, Value, i64, ll
from offramp_p4.native import calls
from offramp_p4.native.emitter import Emitter
from offramp_p4.native.portable import thread
from offramp_p4.native.portable.target import NativePortableTarget
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.portable import program as names
from offramp_p4.native.runtime.portable import psa as runtime
from offramp_p4.portable.psa import BROUGHT, EGRESS, INGRESS, MADE, PATHS, blocks_of
from offramp_p4.source import Unsupported
from offramp_p4.types import Enum

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native.portable.module import Assembly

SUPPLIED: Final[dict[str, Callable[..., Any]]] = {
    "enter": runtime.ingress,
    "leave": runtime.egress,
    "destination": runtime.reachable,
}
_KIND: Final = ll.FunctionType(I64, [PTR, PTR, *[I64] * 6])
"""Type of a half: context, packet memory, frame length, port, path, address of the metadata brought, instance,
class."""
_HALVES: Final = (
    ("ingress", INGRESS, names.INGRESS_RESULTS),
    ("egress", EGRESS, names.EGRESS_RESULTS),
)


def write(assembly: Assembly) -> None:
    """Write ``run_ingress`` and ``run_egress``."""
    _check_paths(assembly.program)
    targets = dict[str, NativePortableTarget]()
    for direction, signatures, results in _HALVES:
        g, target = assembly.emitter(direction, blocks_of(assembly.program, direction, signatures), results)
        targets[direction] = target
        assembly.supplied[f"run_{direction}"] = _write_half(g, target, direction, results)
        assembly.write(g)
    assembly.carried(g, {PATHS.index(path): targets[half].cells.span(role) for path, (half, role) in MADE.items()})


def _check_paths(program: ir.Program) -> None:
    paths = program.types.get("PSA_PacketPath_t")
    if not isinstance(paths, Enum) or [paths.members.get(name) for name in PATHS] != list(range(len(PATHS))):
        raise Unsupported(program.main.pos, "a PSA program whose PSA_PacketPath_t is another one")


def _write_half(g: Emitter, target: NativePortableTarget, direction: str, results: tuple[Any, ...]) -> Value:
    parser, *controls = (calls.block(g, block) for block, _ in target.blocks)

    def body(port: Value, path: Value, carried: Value, instance: Value, cos: Value) -> None:
        metadata = [("parser_in", f"{direction}_port", port), ("in", f"{direction}_port", port)]
        metadata += [("parser_in", "packet_path", path), ("in", "packet_path", path)]
        if direction == "egress":
            metadata += [
                ("in", "instance", instance),
                ("in", "class_of_service", cos),
                ("deparser_in", "egress_port", port),
            ]
        metadata.append(("in", f"{direction}_timestamp", g.word(SwitchMemory.now_us)))
        for role, name, word in metadata:
            thread.tell(g, target, role, name, word)
        _bring(g, target, direction, path, carried)
        thread.parse(g, target, parser, "in")
        if direction == "ingress":
            thread.tell(g, target, "out", "drop", i64(1))
        for block in controls:
            thread.control(g, block)
        for result in results:
            thread.report(g, target, "out", result.name)

    return thread.write_thread(g, _KIND, body)


def _bring(g: Emitter, target: NativePortableTarget, direction: str, path: Value, carried: Value) -> None:
    """Hand the parser the metadata that its packet brings by its path."""
    for name, role in BROUGHT.items():
        if (role in ("resubmit", "recirculate")) == (direction == "ingress"):
            at, size = target.cells.span(role)
            if size:
                with g.when(g.b.icmp_unsigned("==", path, i64(PATHS.index(name)))):
                    g.copy(g.cell(at), g.b.inttoptr(carried, PTR), size)
