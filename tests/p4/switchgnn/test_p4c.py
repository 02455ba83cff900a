# SPDX-License-Identifier: Apache-2.0
"""The programs as the reference compiler sees them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from offramp.p4src import p4_source
from offramp_base.p4rt import p4info
from offramp_p4.frontend import load
from offramp_p4.runtime.p4info import generate

pytestmark = [pytest.mark.p4, pytest.mark.bmv2]


@pytest.mark.parametrize("name", ["v1model", "replicated_v1model", "strawman_v1model"])
def test_p4c_takes_the_program_without_a_warning_and_describes_it_as_we_do(name: str, tmp_path: Path) -> None:
    if not shutil.which("p4c-bm2-ss"):
        pytest.skip("p4c-bm2-ss is not on PATH")
    source, info = p4_source(f"switchgnn/{name}.p4"), tmp_path / "info.txtpb"
    command = ["p4c-bm2-ss", "--std", "p4-16", source, "-o", tmp_path / "out.json", "--p4runtime-files", info]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert entries(generate(load(source))) == entries(p4info.parse(info.read_text()))


def entries(info: object) -> list[str]:
    """Tables, actions, registers and so on, whatever their order."""
    return sorted(str(info).split("\n}\n"))
