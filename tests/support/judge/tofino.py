# SPDX-License-Identifier: Apache-2.0
"""The Tofino back end of p4c: does it take our TNA programs, in how many stages, and does it name objects as we do."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from judge.verdict import SAME, Verdict, first_line, includes, shown
from offramp_base.p4rt import p4info
from offramp_p4.frontend import load
from offramp_p4.runtime.p4info import generate
from offramp_p4.tna.resources import estimate

NAME = "p4c-barefoot"
MOST_STAGES = 12
"""Stages of a Tofino."""
_LIMIT_S = 1800


def judge(programs: list[Path], folder: Path) -> list[Verdict]:
    """Verdicts on TNA programs; minutes for each where the compiler is built without optimisation."""
    verdicts = []
    for number, path in enumerate(programs):
        if includes(path, "tna.p4"):
            verdicts += _one(path, folder / f"tofino{number}")
    return verdicts


def _one(path: Path, folder: Path) -> list[Verdict]:
    folder.mkdir()
    info, name = folder / "info.txtpb", shown(path)
    command = [NAME, "--target", "tofino", "--arch", "tna", "--std", "p4-16", str(path), "-o", str(folder / "out")]
    command += ["--p4runtime-files", str(info), "--p4runtime-force-std-externs"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_LIMIT_S)
    if done.returncode:
        return [Verdict(NAME, name, "program", f"it refuses what we take: {first_line(done.stderr)}")]
    program = load(path)
    (assembly,) = (folder / "out").glob("*/*.bfa")
    numbers = re.findall(r"^stage (\d+) (?:ingress|egress):", assembly.read_text(), re.MULTILINE)
    stages, ours = max(map(int, numbers)) + 1, max(len(report.stages) for report in estimate(program))
    words = SAME if stages == ours else f"{stages}, where our estimate is {ours}"
    if stages > MOST_STAGES:
        words = f"{stages}: more than a Tofino has"
    known, described = p4info.P4InfoIndex(generate(program)), p4info.P4InfoIndex(p4info.load(info))
    wrong = [kind for kind in ("tables", "actions", "counters") if _ids(known, kind) != _ids(described, kind)]
    return [
        Verdict(NAME, name, "program", SAME),
        Verdict(NAME, name, "stages", words),
        Verdict(NAME, name, "P4Info", f"differs in {', '.join(wrong)}" if wrong else SAME),
    ]


def _ids(index: p4info.P4InfoIndex, kind: str) -> dict[str, int]:
    return {each.preamble.name.removeprefix("pipe."): each.preamble.id for each in getattr(index, kind)}
