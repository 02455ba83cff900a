# SPDX-License-Identifier: Apache-2.0
"""Time and memory of G3's packings and of NeutronStar's hybrid, by turns; docs/results has the table.

Nothing here passes or fails by time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench
GRAPH = "sbm:n=60000,k=4,degree=20,features=64,homophily=0.9"
COMMON = f"train --graph {GRAPH} --workers 4 --partition metis --propagator p2p --layers 3 --hidden 64 --epochs 6"
WAYS = {
    "one bin, in sequence": "--schedule sequential",
    "8 bins, alike": "--schedule g3",
    "8 bins, ready": "--schedule g3 --packing ready",
    "8 MB, alike": "--schedule g3 --bin-memory 8MB",
    "8 MB, ready": "--schedule g3 --bin-memory 8MB --packing ready",
    "hybrid, all fetched": "--schedule hybrid --fetch-cost 0",
    "hybrid, by cost": "--schedule hybrid",
    "hybrid, all recomputed": "--schedule hybrid --fetch-cost 1e9",
}
TURNS = 3


def descendants(pid: int) -> list[int]:
    pids = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, task.read_text("ascii").split()):
            pids += [child, *descendants(child)]
    return pids


def peak_mb(pid: int) -> float:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines())
    return int(fields.get("VmHWM", "0 kB").split()[0]) / 1e3


def run(words: str, out: Path, link: list[str]) -> tuple[float, float, float, float]:
    """Median seconds of an epoch, processor seconds of the run, most MB of a process that it started, and the loss."""
    before = os.times()
    command = [sys.executable, "-m", "offramp", *COMMON.split(), *words.split(), *link, "--json", str(out)]
    process, most = subprocess.Popen(command, stdout=subprocess.DEVNULL), 0.0
    while process.poll() is None:
        for pid in descendants(process.pid):
            try:
                most = max(most, peak_mb(pid))
            except (OSError, ProcessLookupError):
                continue
        time.sleep(0.05)
    assert process.returncode == 0
    after = os.times()
    epochs = json.loads(out.read_text("utf-8"))["per_epoch"]
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return statistics.median(epoch["seconds"] for epoch in epochs[2:]), used, most, epochs[-1]["loss"]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("link", [[], ["--link", "1G"]], ids=["gloo", "1 Gbit/s"])
def test_what_bins_and_recomputation_cost(tmp_path: Path, link: list[str]) -> None:
    rows: dict[str, list[tuple[float, float, float, float]]] = {}
    for _ in range(TURNS):
        for name, words in WAYS.items():
            rows.setdefault(name, []).append(run(words, tmp_path / "run.json", link))
    for name, each in rows.items():
        seconds, used, most, _ = (statistics.median(column) for column in zip(*each, strict=True))
        print(f"{name}: {seconds:.3f} s an epoch, {used:.1f} s of processor a run, {most:.0f} MB")  # noqa: T201
    losses = [each[0][3] for each in rows.values()]
    assert losses == pytest.approx([losses[0]] * len(losses), rel=1e-4)
