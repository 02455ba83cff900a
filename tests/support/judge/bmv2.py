# SPDX-License-Identifier: Apache-2.0
"""bmv2's simple_switch: do packets leave it as the STF tests say; by p4c's JSON where p4c is there, else by ours."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import offramp_base
import offramp_p4
from judge.verdict import SAME, Verdict, first_line, shown
from offramp_base.errors import OfframpError
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load
from offramp_p4.reference import run
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import parse
from offramp_p4.stf.run import StfResult, _compare
from offramp_p4_tools.dropin.shims import write_shims

NAME = "simple_switch"
_GAP_US = 20_000


def judge(programs: list[Path], folder: Path) -> list[Verdict]:
    """Verdicts on v1model programs that have an STF file beside them and no table commands between packets."""
    if shutil.which("p4c-bm2-ss") is None:
        _offer_our_compiler(folder)
    verdicts = []
    for path in programs:
        test = path.with_suffix(".stf")
        if test.is_file() and "v1model.p4" in path.read_text(encoding="utf-8", errors="replace"):
            try:
                words = _one(path, test)
            except OfframpError as error:
                words = f"not run: {first_line(str(error))}"
            if words:
                verdicts.append(Verdict(NAME, shown(path), "packets", words))
    return verdicts


def _offer_our_compiler(folder: Path) -> None:
    """Have bmv2 run our JSON where p4c is not at hand."""
    search = {str(Path(str(package.__file__)).parents[1]) for package in (offramp_base, offramp_p4)}
    write_shims(folder / "all", sorted(search))
    (folder / "bin").mkdir()
    shutil.copy(folder / "all" / "p4c-bm2-ss", folder / "bin")
    os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    sys.stderr.write("simple_switch runs our JSON: p4c-bm2-ss is not on PATH\n")


def _one(path: Path, test: Path) -> str:
    commands = parse(test.read_text(), str(test))
    switch = make_switch(load(path), "python")
    control = StfControl(switch)
    packets: list[tuple[int, int, bytes]] = []
    ports: set[int] = set()
    for command in commands:
        if command.name in {"packet", "expect"}:
            ports.add(command.numbers[0])
        if command.name == "packet":
            packets.append((len(packets) * _GAP_US, command.numbers[0], bytes.fromhex(command.data)))
        elif command.name not in {"expect", "check_counter"}:
            if packets:
                return ""  # bmv2 is fed from files, between whose packets nothing can be done
            control.execute(command)
    leaving = run(path, switch, packets, sorted(ports))
    result = StfResult(str(test))
    for port in ports:
        expected = [c for c in commands if c.name == "expect" and c.numbers[0] == port]
        _compare(port, expected, [each.frame for each in leaving if each.port == port], result)
    return SAME if result.passed else result.mismatches[0].message
