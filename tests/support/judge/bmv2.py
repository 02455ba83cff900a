# SPDX-License-Identifier: Apache-2.0
"""bmv2's switches: do packets leave them as they leave ours, from our JSON and, where p4c is there, from p4c's.

The packets are those of the STF test beside a program and random ones, these with random entries.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Final

import offramp_base
import offramp_p4
from judge.verdict import SAME, Verdict, ask, first_line, includes, shown
from offramp_base.errors import OfframpError
from offramp_p4.engines import make_switch
from offramp_p4.frontend import load
from offramp_p4.reference import run
from offramp_p4.reference.compiled import CompilerRefusal
from offramp_p4.reference.process import ReferenceTarget
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import parse
from offramp_p4.stf.run import StfResult, _compare
from offramp_p4_tools.dropin.shims import write_shims
from offramp_p4_tools.fuzz.compare import FuzzInput
from offramp_p4_tools.fuzz.parsed import parsed_packets
from offramp_p4_tools.fuzz.reference import file_against_bmv2

_GAP_US: Final = 20_000
_PER_CORE: Final = 3
"""Programs at a time for each core: a run is mostly waiting."""
_PACKETS: Final = 60
_QUIET_S: Final = 5.0
"""Seconds without a frame after which an STF test is over, also on a busy machine."""
_CLOCK: Final = re.compile(r"timestamp|\brandom\s*[(<]|Random\s*<|deq_|enq_")
"""What differs from run to run."""


def judge(target: ReferenceTarget, package: str, programs: list[Path], folder: Path) -> list[Verdict]:
    """Verdicts on the programs of this target; STF tests with table commands between packets are left out."""
    search = {str(Path(str(each.__file__)).parents[1]) for each in (offramp_base, offramp_p4)}
    write_shims(folder / "shims", sorted(search))
    compilers = {"our JSON": str(folder / "shims" / target.compiler)}
    if shutil.which(target.compiler):
        compilers["p4c's JSON"] = target.compiler
    works = [
        (path, partial(_one, target.switch, path, f"{subject}, {whose}", partial(work, path, compiler)))
        for path in programs
        if includes(path, package)
        for subject, work in _subjects(path)
        for whose, compiler in compilers.items()
    ]
    return ask(target.switch, works, _PER_CORE)


def _subjects(path: Path) -> Iterator[tuple[str, Callable[[Path, str], str]]]:
    if path.with_suffix(".stf").is_file():
        yield "STF", _stf
    if not _CLOCK.search(path.read_text(encoding="utf-8", errors="replace")):
        yield "random packets", _random


def _one(switch: str, path: Path, subject: str, work: Callable[[], str]) -> list[Verdict]:
    try:
        words = work()
    except CompilerRefusal:
        return []  # what compilers take is compared elsewhere
    except OfframpError as error:
        words = f"not run: {first_line(str(error))}"
    return [Verdict(switch, shown(path), subject, words)] if words else []


def _random(path: Path, compiler: str) -> str:
    rng = Random(path.name)
    packets = parsed_packets(load(path), rng, _PACKETS)
    verdict = file_against_bmv2(path, FuzzInput(tuple(packets), rng.randrange(1 << 16)), compiler)
    if verdict.kind == "same":
        return SAME
    return verdict.message if verdict.kind == "difference" else f"not run: {first_line(verdict.message)}"


def _stf(path: Path, compiler: str) -> str:
    test = path.with_suffix(".stf")
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
    leaving = run(path, switch, packets, sorted(ports), compiler=compiler, quiet_s=_QUIET_S)
    result = StfResult(str(test))
    for port in ports:
        expected = [c for c in commands if c.name == "expect" and c.numbers[0] == port]
        _compare(port, expected, [each.frame for each in leaving if each.port == port], result)
    return SAME if result.passed else result.mismatches[0].message
