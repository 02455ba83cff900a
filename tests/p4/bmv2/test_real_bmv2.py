# SPDX-License-Identifier: Apache-2.0
"""Our JSON on bmv2 itself, where simple_switch and its command line are on PATH; p4c is not needed.

It shows what the round trip cannot: that bmv2 understands the JSON as we do.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import offramp_base
import offramp_p4
from bmv2_refusals import REFUSED
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load
from offramp_p4.reference import run
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import parse
from offramp_p4.stf.run import StfResult, _compare
from offramp_p4_tools.dropin.shims import write_shims

FOLDER = Path(__file__).parents[1] / "stf"
# bmv2 sets no error when a select matches nothing in p4c's JSON; in ours it does.
TESTS = sorted({path.stem for path in FOLDER.glob("*.stf")} - REFUSED.keys())

pytestmark = [pytest.mark.p4, pytest.mark.bmv2, pytest.mark.slow]


@pytest.fixture(autouse=True)
def our_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``p4c-bm2-ss`` is ours, everything else bmv2's."""
    for tool in ("simple_switch", "simple_switch_CLI"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")
    search = {str(Path(str(package.__file__)).parents[1]) for package in (offramp_base, offramp_p4)}
    write_shims(tmp_path / "all", sorted(search))
    (tmp_path / "bin").mkdir()
    shutil.copy(tmp_path / "all" / "p4c-bm2-ss", tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize("name", TESTS)
def test_stf(name: str) -> None:
    source = FOLDER / f"{name}.p4"
    commands = parse((FOLDER / f"{name}.stf").read_text(), f"{name}.stf")
    switch = make_switch(load(source), "python")
    control, packets, ports = StfControl(switch), [], set()
    for command in commands:
        if command.name in {"packet", "expect"}:
            ports.add(command.numbers[0])
        if command.name == "packet":
            packets.append((len(packets) * 20_000, command.numbers[0], bytes.fromhex(command.data)))
        elif command.name not in {"expect", "check_counter"}:
            if packets:
                pytest.skip("commands between the packets")
            control.execute(command)
    departures = run(source, switch, packets, sorted(ports))
    result = StfResult(name)
    for port in ports:
        expected = [c for c in commands if c.name == "expect" and c.numbers[0] == port]
        _compare(port, expected, [d.frame for d in departures if d.port == port], result)
    assert result.mismatches == []
