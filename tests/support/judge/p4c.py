# SPDX-License-Identifier: Apache-2.0
"""p4c's back ends for bmv2: do they take and refuse what we do, describe programs so, and does their JSON run so."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path

from judge.verdict import SAME, Verdict, ask, first_line, includes, shown
from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info
from offramp_p4.frontend import load
from offramp_p4.programs import load_program
from offramp_p4.runtime.p4info import generate
from offramp_p4.stf import run_stf


def judge(compiler: str, package: str, programs: list[Path], folder: Path) -> list[Verdict]:
    """Verdicts on one architecture's programs; those with an STF file beside them are run from p4c's JSON too."""
    chosen = enumerate(path for path in programs if includes(path, package))
    return ask(compiler, ((path, partial(_one, compiler, path, folder / str(number))) for number, path in chosen))


def _one(compiler: str, path: Path, folder: Path) -> list[Verdict]:
    folder.mkdir()
    compiled, info = folder / "program.json", folder / "info.txtpb"
    command = [compiler, "--std", "p4-16", str(path), "-o", str(compiled), "--p4runtime-files", str(info)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    name = shown(path)
    try:
        program = load(path)
        refused = ""
    except OfframpError as error:
        refused = str(error)
    if done.returncode or refused:
        words = SAME if done.returncode and refused else f"we refuse it: {first_line(refused)}"
        if done.returncode and not refused:
            words = f"it refuses what we take: {first_line(done.stderr)}"
        return [Verdict(compiler, name, "program", words)]
    verdicts = [Verdict(compiler, name, "program", SAME)]
    ours, theirs = (sorted(str(each).split("\n}\n")) for each in (generate(program), p4info.load(info)))
    differing = next((b for b in theirs if b not in ours), "an object of ours that it lacks")
    words = SAME if ours == theirs else f"differs in {' '.join(differing.split())[:120]}"
    verdicts.append(Verdict(compiler, name, "P4Info", words))
    test = path.with_suffix(".stf")
    if test.is_file():
        verdicts.append(Verdict(compiler, name, "JSON", _runs(compiled, test)))
    return verdicts


def _runs(compiled: Path, test: Path) -> str:
    try:
        result = run_stf(load_program(compiled), test.read_text(), str(test))
    except OfframpError as error:
        return f"we refuse its JSON: {first_line(str(error))}"
    return SAME if result.passed else f"its JSON runs differently: {result.mismatches[0].message}"
