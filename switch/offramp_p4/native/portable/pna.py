# SPDX-License-Identifier: Apache-2.0
"""PNA: parser, pre-control, main control and deparser as one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from offramp_base.native.llvm import I64, PTR, Value, const, i64, ll
from offramp_p4.native import calls
from offramp_p4.native.portable import requests, thread
from offramp_p4.native.portable.flows import NativeFlowCacheCalls
from offramp_p4.native.runtime.context import SwitchMemory
from offramp_p4.native.runtime.portable import pna as runtime
from offramp_p4.native.runtime.portable import program as names
from offramp_p4.portable.pna import blocks_of, directions

if TYPE_CHECKING:
    from offramp_p4.native.portable.module import Assembly

SUPPLIED: Final[dict[str, Callable[..., Any]]] = {
    "enter": runtime.main_pass,
    "leave": runtime.wire,
    "destination": runtime.reachable,
}
_KIND: Final = ll.FunctionType(I64, [PTR, PTR, *[I64] * 4])
"""Type of ``run_main``: context, packet memory, frame length, port, 1 if a port of the host, passes made so far."""


def write(assembly: Assembly) -> None:
    """Write ``run_main``."""
    program = assembly.program
    blocks = blocks_of(program)
    g, target = assembly.emitter("main", blocks, names.CARD_RESULTS)
    flows = NativeFlowCacheCalls(target, program, assembly.plan)
    target.add(flows, requests.builders(), {("", "SelectByDirection"): requests.selected})
    functions = [calls.block(g, block) for block, _ in blocks]
    parser, deparser = functions[0], functions[-1]
    pre = functions[1] if len(functions) == 4 else None
    roles = ["in"] if pre is None else ["in", "pre_in"]

    def body(port: Value, from_host: Value, passes: Value) -> None:
        metadata = {"input_port": port}
        if pre is None:
            metadata["recirculated"] = g.resize(g.b.icmp_unsigned("!=", passes, i64(0)), 64)
        else:
            from_net_is, from_host_is = directions(program)
            host = g.b.icmp_unsigned("!=", from_host, i64(0))
            metadata["direction"] = g.b.select(host, i64(from_host_is), i64(from_net_is))
            metadata["pass"] = passes
        for role in ("parser_in", *roles):
            for name, word in metadata.items():
                thread.tell(g, target, role, name, word)
        thread.parse(g, target, parser, *roles)
        thread.tell(g, target, "in", "timestamp", g.word(SwitchMemory.now_us))
        if pre is not None:
            thread.control(g, pre)
            decrypt = thread.report(g, target, "pre_out", names.DECRYPT.name)
            g.leave_if(g.b.icmp_unsigned("!=", decrypt, const(I64, 0)), 0)
        thread.control(g, functions[-2])
        thread.control(g, deparser)
        thread.report(g, target, "out", names.COS.name)

    assembly.supplied["run_main"] = thread.write_thread(g, _KIND, body)
    assembly.write(g)
    assembly.carried(g, {names.RECIRCULATED: target.cells.fields[names.PASSES.name]})
