# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN's training with ``--acks`` and without, by turns on three graphs: time of an epoch, bytes on links.

Both ways give the same losses. Blind to congested networks: the embedded switch has no queues that could mark.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from offramp_cli.train import train

pytestmark = [pytest.mark.bench, pytest.mark.p4, pytest.mark.timeout(900)]
DATA = Path(__file__).parents[3] / "shared" / "data"
TURNS = 3


@pytest.mark.parametrize("graph", ["digits", "cora", "citeseer"])
def test_what_acknowledgements_cost(graph: str, tmp_path: Path) -> None:
    path = DATA / f"{graph}.npz"
    if graph != "digits" and not path.exists():
        pytest.skip(f"{path.name} is not here")
    runs: dict[bool, list[dict[str, Any]]] = {False: [], True: []}
    for turn in range(TURNS):
        for acks in (False, True) if turn % 2 else (True, False):
            out = tmp_path / f"{turn}-{acks}.json"
            train(
                graph=graph if graph == "digits" else str(path), workers=4, partition="hash", hidden=16, epochs=5,
                propagator="switch", acks=acks, json=out,
            )  # fmt: skip
            runs[acks].append(json.loads(out.read_text()))
    without, with_acks = runs.values()
    losses = [[epoch["loss"] for epoch in run["per_epoch"]] for run in without + with_acks]
    assert losses.count(losses[0]) == 2 * TURNS
    epoch_s = [[statistics.median(e["seconds"] for e in run["per_epoch"][1:]) for run in way] for way in runs.values()]
    ratios = sorted(on / off for off, on in zip(*epoch_s, strict=True))
    down = [way[0]["wire_bytes_down"] for way in runs.values()]
    up = [way[0]["wire_bytes_up"] for way in runs.values()]
    sys.stdout.write(
        f"\n{graph}: an epoch {ratios[TURNS // 2]:.2f} times as long ({ratios[0]:.2f} to {ratios[-1]:.2f}), "
        f"bytes on links up {up[1] / up[0]:.2f}, down {down[1] / down[0]:.2f} times\n"
    )
    assert down[1] > down[0]
