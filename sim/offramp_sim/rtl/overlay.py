"""The engines of an overlay side by side, as one module: what stands between them and memory is the board's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from offramp.errors import OfframpError
from offramp.fpga.sources import modules

PARAMETERS: Final = {
    "kvs_lookup": {"WIDTH": 128, "FLIGHT": 16},
    "reduce": {"WIDTH": 128, "DEPTH": 256},
    "ebs_lookup": {"WIDTH": 128, "FLIGHT": 8},
    "p2p_dma": {"WIDTH": 256, "BURST": 8, "DEPTH": 32, "QUEUE": 8},
    "path_router": {"WIDTH": 64, "DEPTH": 64, "PACKET": 16},
}
"""Of each engine in an overlay."""

USUAL: Final = ("kvs_lookup", "reduce", "ebs_lookup")
_HEADER: Final = re.compile(r"^module \w+ #\((.*?)\n\) \((.*?)\n\);", re.DOTALL | re.MULTILINE)
_PARAMETER: Final = re.compile(r"parameter\s+(?:\[[^\]]*\]\s*)?(\w+)\s*=\s*([^,/\n]+)")
_PORT: Final = re.compile(r"(input|output)\s+(?:wire|reg)\s*(\[[^\]]*\])?\s*(\w+)")
_COMMENT: Final = re.compile(r"//[^\n]*")


def engines_of(text: str) -> tuple[str, ...]:
    """Engines whose names are separated by commas or ``+``; the usual ones where there are none.

    Raises:
        OfframpError: there is no such engine.
    """
    chosen = tuple(filter(None, re.split(r"[,+]", text))) or USUAL
    for name in chosen:
        if name not in PARAMETERS:
            raise OfframpError(f"engine {name}: expected {', '.join(PARAMETERS)}")
    if len(set(chosen)) < len(chosen):
        raise OfframpError(f"engines {text}: one of them twice")
    return chosen


def write_overlay(engines: Sequence[str], folder: Path) -> Path:
    """Write ``engines.sv``: every port of every engine, its name behind the engine's; clock and reset are shared."""
    known = modules()
    parameters, ports, instances = [], ["input wire clk", "input wire rst"], []
    for name in engines:
        found = _HEADER.search(_COMMENT.sub("", known[name].read_text(encoding="utf-8")))
        assert found is not None, name
        values = dict(_PARAMETER.findall(found[1])) | PARAMETERS[name]
        parameters += [f"parameter {name}_{key} = {value}" for key, value in values.items()]
        own, prefixed = re.compile(rf"\b({'|'.join(values)})\b"), rf"{name}_\1"
        wires = []
        for direction, width, port in _PORT.findall(found[2]):
            if port in ("clk", "rst"):
                continue
            ports.append(f"{direction} wire {own.sub(prefixed, width)} {name}_{port}")
            wires.append(f".{port}({name}_{port})")
        given = ", ".join(f".{key}({name}_{key})" for key in values)
        instances.append(f"{name} #({given}) {name}_i (.clk(clk), .rst(rst), {', '.join(wires)});")
    path = folder / "engines.sv"
    head = f"module engines #(\n{_lines(parameters)}\n) (\n{_lines(ports)}\n);"
    path.write_text("\n".join([head, *instances, "endmodule\n"]), encoding="utf-8")
    return path


def _lines(items: Sequence[str]) -> str:
    return ",\n".join(f"  {item}" for item in items)
