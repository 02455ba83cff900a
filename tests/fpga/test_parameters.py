# SPDX-License-Identifier: Apache-2.0
"""Wrong parameters are refused when a design is elaborated: by simulators, by the linter, and by synthesis.

Vivado is not here; an instance of a module that nobody declares is an error by the standard (IEEE 1800, 23.3.2).
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from offramp.fpga.registers import write_verilog
from offramp.fpga.sources import closure, fpga_root, include_option, modules, register_maps
from offramp_sim.rtl.build import missing, tools
from rtl.parameters import ANY, TAKEN, UNUSED, WRONG, parameters, unjudged

pytestmark = pytest.mark.rtl

TOOLS = ("icarus", "verilator", "yosys")
REFUSED = re.compile(r"\w+_needs_[A-Z]\w+")
STUMBLES = {"verilator:multiply_low.WIDTH", "verilator:path_mux.COUNT", "verilator:udp_engines.PATIENCE"}
"""Refused before a tool reaches the check, for what the language forbids."""


@pytest.fixture(scope="module")
def blocks(tmp_path_factory) -> dict[str, Path]:
    pytest.importorskip("systemrdl")
    if lacking := missing("verilator") or missing("icarus"):
        pytest.skip(f"needs {lacking}")
    folder = tmp_path_factory.mktemp("blocks")
    return {name: write_verilog(name, folder) for name in register_maps()}


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[None]:
    with tools("verilator"):
        yield


def elaborated(tool: str, module: str, values: Mapping[str, int], blocks: Mapping[str, Path]) -> tuple[bool, str]:
    """Whether a tool elaborates a module with these parameters, and what it said."""
    files, names = closure(module)
    sources = [*(str(blocks[name]) for name in names), *map(str, files)]
    include = include_option()
    match tool:
        case "icarus":
            sets = [f"-P{module}.{name}={value}" for name, value in values.items()]
            command = ["iverilog", "-g2012", "-t", "null", include, "-s", module, *sets, *sources]
        case "verilator":
            sets = [f"-G{name}={value}" for name, value in values.items()]
            command = ["verilator_bin", "--lint-only", "-Wno-lint", "-Wno-fatal", include, "--top-module", module]
            command += [*sets, *sources]
        case _:
            sets = [f"chparam -set {name} {value} {module}; " for name, value in values.items()]
            reads = f"read_verilog -defer -sv {include} {' '.join(sources)}; "
            command = ["yosys", "-q", "-p", f"{reads}{''.join(sets)}hierarchy -check -top {module}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr


def test_every_parameter_has_wrong_values_or_a_reason():
    assert unjudged() == []
    known = {module: set(parameters(path)) for module, path in modules().items()}
    stale = [f"{module}.{name}" for module, names in WRONG.items() for name in names if name not in known[module]]
    assert stale == []
    named = {name for names in known.values() for name in names}
    assert all(key.split(".")[1] in named for key in (*ANY, *UNUSED))


def test_no_check_is_left_to_simulation():
    """A check inside ``initial`` stops a simulation alone."""
    for path in sorted(fpga_root().rglob("*.sv")):
        assert not re.search(r"initial[^;]*\$(fatal|error)", path.read_text("utf-8")), path
        for name in re.findall(r"begin : wrong_\w+ (\w+)_needs_", path.read_text("utf-8")):
            assert name == path.stem


def refusals(module: str, whole: bool) -> Iterator[tuple[str, str, int]]:
    """Tools, parameters and wrong values to try.

    A check is one text for all tools, so that the quickest one tries every value and the others the first of each
    parameter; an engine hands its parameters on to modules that are tried themselves.
    """
    engine = bool(closure(module)[1])
    for name, values in WRONG[module].items():
        for value in values if whole or not engine else values[:1]:
            for tool in TOOLS if whole or not engine else ("icarus",):
                if tool == "yosys" and value < 0:
                    continue  # its command takes no negative value
                if whole or engine or tool == "yosys" or value == values[0]:
                    yield tool, name, value


def passed(module: str, whole: bool, blocks: Mapping[str, Path]) -> list[str]:
    """What went through, or was refused for another reason than the module's precondition."""
    outcomes = ((*each, *elaborated(each[0], module, dict([each[1:]]), blocks)) for each in refusals(module, whole))
    return [
        f"{tool}: {name} = {value}: {said[-400:]}"
        for tool, name, value, good, said in outcomes
        if good or not (REFUSED.search(said) or f"{tool}:{module}.{name}" in STUMBLES)
    ]


@pytest.mark.parametrize("module", WRONG)
def test_wrong_values_are_refused_by_every_tool(module, blocks):
    assert passed(module, False, blocks) == []


@pytest.mark.slow
@pytest.mark.parametrize("module", WRONG)
def test_each_wrong_value_is_refused_by_every_tool(module, blocks):
    assert passed(module, True, blocks) == []


@pytest.mark.parametrize("module", TAKEN)
def test_right_values_are_taken_by_every_tool(module, blocks):
    for values in TAKEN[module]:
        for tool in TOOLS:
            good, said = elaborated(tool, module, values, blocks)
            assert good, f"{tool}: {values}: {said[-400:]}"
