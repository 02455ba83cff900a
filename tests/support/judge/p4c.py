# SPDX-License-Identifier: Apache-2.0
"""p4c's back end for bmv2: does it take and refuse what we do, describe programs so, and does its JSON run so here."""

from __future__ import annotations

import subprocess
from pathlib import Path

from judge.verdict import SAME, Verdict, first_line, shown
from offramp_base.errors import OfframpError
from offramp_base.p4rt import p4info
from offramp_p4.frontend import load
from offramp_p4.programs import load_program
from offramp_p4.runtime.p4info import generate
from offramp_p4.stf import run_stf

NAME = "p4c-bm2-ss"


def judge(programs: list[Path], folder: Path) -> list[Verdict]:
    """Verdicts on v1model programs; those with an STF file beside them are run from p4c's JSON too."""
    verdicts = []
    for number, path in enumerate(programs):
        if "v1model.p4" in path.read_text(encoding="utf-8", errors="replace"):
            verdicts += _one(path, folder / f"p4c{number}")
    return verdicts


def _one(path: Path, folder: Path) -> list[Verdict]:
    folder.mkdir()
    compiled, info = folder / "program.json", folder / "info.txtpb"
    command = [NAME, "--std", "p4-16", str(path), "-o", str(compiled), "--p4runtime-files", str(info)]
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
        return [Verdict(NAME, name, "program", words)]
    verdicts = [Verdict(NAME, name, "program", SAME)]
    ours, theirs = (sorted(str(each).split("\n}\n")) for each in (generate(program), p4info.load(info)))
    differing = next((b for b in theirs if b not in ours), "an object of ours that it lacks")
    words = SAME if ours == theirs else f"differs in {' '.join(differing.split())[:120]}"
    verdicts.append(Verdict(NAME, name, "P4Info", words))
    test = path.with_suffix(".stf")
    if test.is_file():
        verdicts.append(Verdict(NAME, name, "JSON", _runs(compiled, test)))
    return verdicts


def _runs(compiled: Path, test: Path) -> str:
    try:
        result = run_stf(load_program(compiled), test.read_text(), str(test))
    except OfframpError as error:
        return f"we refuse its JSON: {first_line(str(error))}"
    return SAME if result.passed else f"its JSON runs differently: {result.mismatches[0].message}"
