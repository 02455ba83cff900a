# SPDX-License-Identifier: Apache-2.0
"""Packets through ports of DPDK's come out as from the engine on arrays, and leave the same state behind.

The Python engine is the oracle, as for the native engine itself: bit for bit in packets, counts, tables, registers,
meters and digests. On several cores order holds within a flow only. Blind to timestamps, which no program here reads.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpdk_switch import require
from offramp.p4src import p4_root

CHILD = Path(__file__).parents[2] / "support" / "ported_twins.py"
FOLDERS = [Path(__file__).parents[1] / "stf", p4_root() / "examples"]
FILES = sorted(path for folder in FOLDERS for path in folder.glob("*.stf"))
QUICK = ("clones", "registers", "replication")

pytestmark = [pytest.mark.p4, pytest.mark.full]


def run(folder: Path, cores: int, spread: str, damaged: int, files: list[Path]) -> None:
    command = [sys.executable, str(CHILD), str(cores), spread, str(folder), str(damaged), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    assert len(done.stdout.splitlines()) == len(files)


def test_some_programs(tmp_path: Path) -> None:
    require("pcap")
    run(tmp_path, 2, "flow", 100, [path for path in FILES if path.stem in QUICK])


@pytest.mark.slow
@pytest.mark.parametrize(("cores", "spread"), [(1, "port"), (2, "flow")])
def test_all_programs(tmp_path: Path, cores: int, spread: str) -> None:
    require("pcap")
    run(tmp_path, cores, spread, 300, FILES)
