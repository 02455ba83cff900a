# SPDX-License-Identifier: Apache-2.0
"""ASTRA-sim as the user has built it: the program that ``OFFRAMP_ASTRA_SIM`` names, and files of its repositories."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from offramp.cluster.formats import astra_sim
from offramp.hermod.chakra import schema
from offramp.themis.kinds import Collective
from offramp.themis.network import Network
from offramp.themis.network_file import load_network
from offramp_base.documents import read_text
from offramp_base.errors import OfframpError

PROGRAM, FOLDER = os.environ.get("OFFRAMP_ASTRA_SIM"), os.environ.get("OFFRAMP_ASTRA_INPUTS")
LIMIT_S = 300
NEEDED = pytest.mark.skipif(
    not (PROGRAM and FOLDER), reason="OFFRAMP_ASTRA_SIM and OFFRAMP_ASTRA_INPUTS name no program and folder"
)
TYPES = {
    Collective.ALL_REDUCE: schema.ALL_REDUCE,
    Collective.REDUCE_SCATTER: schema.REDUCE_SCATTER,
    Collective.ALL_GATHER: schema.ALL_GATHER,
    Collective.ALL_TO_ALL: schema.ALL_TO_ALL,
}


def system_of(network: Network, chunks: int, memory_gbytes: float = 50, **more: object) -> dict[str, object]:
    """A system file with the algorithms that a network with messages has."""
    named: dict[str, object] = {}
    for k, each in enumerate(("all-reduce", "reduce-scatter", "all-gather", "all-to-all")):
        named[f"{each}-implementation"] = [d.messages.algorithms[k] for d in network.dimensions if d.messages]
    return {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 1,
        "preferred-dataset-splits": chunks,
        "collective-optimization": "localBWAware",
        "local-mem-bw": memory_gbytes,
        **named,
        **more,
    }


def ends_ns(
    folder: Path, prefix: Path, network: Path, system: dict[str, object], groups: Path | None, *more: str
) -> list[int]:
    """The end of each NPU, in nanoseconds; a run without all of them is skipped with what the program said."""
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    given = {
        "workload": prefix,
        "system": folder / "system.json",
        "network": network,
        "remote-memory": folder / "memory.json",
    }
    if groups is not None:
        given["comm-group"] = groups
    command = [PROGRAM or "", *(f"--{key}-configuration={path}" for key, path in given.items()), *more]
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        pytest.skip(f"ASTRA-sim takes longer than {LIMIT_S} s on {network.name}")
    ended = [int(number) for number in re.findall(r"finished, ([0-9]+) cycles", ran.stdout)]
    if ran.returncode or not ended:
        said = (ran.stderr.strip() or ran.stdout.strip())[-200:]
        pytest.skip(f"ASTRA-sim does not run it on {network.name}: {said}")
    return ended


def network_files() -> list[Path]:
    """Files of version 2 below the folder that differ and can be read."""
    by_dimensions: dict[object, Path] = {}
    for path in sorted(Path(FOLDER).rglob("*.yml")) if FOLDER else []:
        try:
            if astra_sim.is_network(read_text(path)):
                by_dimensions.setdefault(load_network(str(path)).dimensions, path)
        except OfframpError:
            continue
    return list(by_dimensions.values())
