# SPDX-License-Identifier: Apache-2.0
"""The programs as p4c sees them: bmv2's back end, and the open-source one for Tofino."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from offramp.p4src import p4_source
from offramp_base.p4rt import p4info
from offramp_p4.frontend import load
from offramp_p4.runtime.p4info import generate
from offramp_p4.tna.resources import estimate

pytestmark = [pytest.mark.p4, pytest.mark.bmv2]

TNA = p4_source("hermod/tna.p4")


def test_p4c_takes_the_program_without_a_warning_and_describes_it_as_we_do(tmp_path: Path) -> None:
    if not shutil.which("p4c-bm2-ss"):
        pytest.skip("p4c-bm2-ss is not on PATH")
    source, info = p4_source("hermod/v1model.p4"), tmp_path / "info.txtpb"
    command = ["p4c-bm2-ss", "--std", "p4-16", source, "-o", tmp_path / "out.json", "--p4runtime-files", info]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    ours, theirs = (sorted(str(each).split("\n}\n")) for each in (generate(load(source)), p4info.load(info)))
    assert ours == theirs


def test_stages() -> None:
    """Our estimate; what p4c-barefoot says, the next test measures where it is installed."""
    (report,) = estimate(load(TNA))
    assert (len(report.stages), report.fits) == (9, True)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_tofino_back_end_takes_it(tmp_path: Path) -> None:
    if not shutil.which("p4c-barefoot"):
        pytest.skip("p4c-barefoot is not on PATH")
    info = tmp_path / "info.txtpb"
    command = ["p4c-barefoot", "--target", "tofino", "--arch", "tna", "--std", "p4-16", TNA, "-o", tmp_path / "out"]
    command += ["--p4runtime-files", info, "--p4runtime-force-std-externs"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, preexec_fn=lambda: os.nice(10))
    assert done.returncode == 0, done.stderr
    (assembly,) = (tmp_path / "out").glob("*/*.bfa")
    stages = re.findall(r"^stage (\d+) (?:ingress|egress):", assembly.read_text(), re.MULTILINE)
    assert max(map(int, stages)) + 1 <= 12
    ours, theirs = p4info.P4InfoIndex(generate(load(TNA))), p4info.P4InfoIndex(p4info.load(info))
    for kind in ("tables", "actions", "counters"):
        names = {o.preamble.name.removeprefix("pipe."): o.preamble.id for o in getattr(ours, kind)}
        assert names == {o.preamble.name: o.preamble.id for o in getattr(theirs, kind)}
