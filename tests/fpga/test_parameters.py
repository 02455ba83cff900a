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
from parameters import ANY, TAKEN, UNUSED, WRONG, parameters, unjudged

pytestmark = pytest.mark.rtl

TOOLS = ("icarus", "verilator", "yosys")
REFUSED = re.compile(r"\w+_needs_[A-Z]\w+")


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
            command = ["verilator", "--lint-only", "-Wno-lint", "-Wno-fatal", include, "--top-module", module]
            command += [*sets, *sources]
        case _:
            sets = [f"chparam -set {name} {value} {module}; " for name, value in values.items()]
            reads = f"read_verilog -sv {include} {' '.join(sources)}; "
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


@pytest.mark.parametrize("module", WRONG)
def test_wrong_values_are_refused_by_every_tool(module, blocks):
    passed = []
    for name, values in WRONG[module].items():
        for value in values:
            for tool in TOOLS:
                good, said = elaborated(tool, module, {name: value}, blocks)
                if good or not REFUSED.search(said):
                    passed.append(f"{tool}: {name} = {value}: {said[-400:]}")
    assert passed == []


@pytest.mark.parametrize("module", TAKEN)
def test_right_values_are_taken_by_every_tool(module, blocks):
    for values in TAKEN[module]:
        for tool in TOOLS:
            good, said = elaborated(tool, module, values, blocks)
            assert good, f"{tool}: {values}: {said[-400:]}"
