# SPDX-License-Identifier: Apache-2.0
"""Files of ASTRA-sim and SimAI below the folder that ``OFFRAMP_ASTRA_INPUTS`` names: each runs, or is refused by name.

Nothing of theirs is kept here. What runs is a small all-reduce on each network, and an iteration of each workload on a
network of as many NPUs. Blind to: whether the times are right, of which `test_astra.py` has cases.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from offramp.cluster.formats import astra_sim, simai
from offramp.themis.demand import Demand
from offramp.themis.network import Collective, Dimension, DimensionTopology, Network
from offramp.themis.network_file import load_network
from offramp.themis.plan import Scheduler, make_plan
from offramp.themis.system_file import read_system
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError
from offramp_sim.themis.iteration import train
from offramp_sim.themis.workload_file import load_workload

FOLDER = os.environ.get("OFFRAMP_ASTRA_INPUTS")
MOST_BYTES = 16 << 20
WORKLOAD = re.compile(r"(DATA|MODEL|MICRO|HYBRID_\w+|DISTRIBUTED_\w+)\b.*\n\s*[0-9]+\s*\n")


def on_a_network(path: Path) -> str:
    network = load_network(str(path))
    took = make_plan(network, [Demand(Collective.ALL_REDUCE, 1 << 20)], Scheduler.THEMIS_SCF, 4).finish_ps
    return f"{network.npus} NPUs, 1 MiB in {took / 1e6:.1f} us"


def of_a_workload(path: Path) -> str:
    whole = re.search(r"all_gpus: ([0-9]+)", read_text(path, MOST_BYTES))
    outer = max(2, int(whole[1]) // 32) if whole else 16
    dimensions = (
        Dimension(DimensionTopology.SWITCH, 32, 8e11, 500),
        Dimension(DimensionTopology.SWITCH, outer, 8e11, 1000),
    )
    network = Network("given", dimensions)
    breakdown = train(load_workload(str(path), network), network, Scheduler.THEMIS_SCF, 1, 16)
    return f"{network.npus} NPUs, an iteration in {breakdown.total / 1e9:.3f} ms"


def kind_of(path: Path) -> str | None:
    try:
        text = read_text(path, MOST_BYTES)
    except OfframpError:
        return None
    if path.suffix in (".yml", ".yaml", ".json") and astra_sim.is_network(text):
        return "network"
    if path.suffix in ("", ".txt") and simai.is_topology(text):
        return "network"
    if '"scheduling-policy"' in text or text.startswith("scheduling-policy:"):
        return "system"
    return "workload" if path.suffix == ".txt" and WORKLOAD.match(text) else None


def of_a_system(path: Path) -> str:
    system = read_system(str(path))
    count = next((len(names) for names in system.algorithms if names is not None), 1)
    network = system.on(Network("given", (Dimension(DimensionTopology.SWITCH, 4, 8e11, 500),) * count))
    took = make_plan(network, [Demand(Collective.ALL_REDUCE, 1 << 20)], Scheduler.BASELINE, system.chunks).finish_ps
    return f"1 MiB over {count} switches of 4 in {took / 1e6:.1f} us"


RUNS = {"network": on_a_network, "workload": of_a_workload, "system": of_a_system}


@pytest.mark.skipif(not FOLDER, reason="OFFRAMP_ASTRA_INPUTS names no folder of ASTRA-sim's or SimAI's files")
def test_every_file_runs_or_is_refused():
    counts = {"runs": 0, "refused": 0}
    for path in sorted(p for p in Path(FOLDER or "").rglob("*") if p.is_file()):
        kind = kind_of(path)
        if kind is None:
            continue
        try:
            said = RUNS[kind](path)
        except OfframpError as error:
            said = f"refused: {error}"
            assert path.stem in said or "algorithm" in said
            assert "\n" not in said
        counts["refused" if said.startswith("refused") else "runs"] += 1
        sys.stdout.write(f"{path.relative_to(FOLDER or '')}: {said}\n")
    sys.stdout.write(f"{counts}\n")
    assert counts["runs"]
