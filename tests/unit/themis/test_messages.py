# SPDX-License-Identifier: Apache-2.0
"""Messages between ranks over gloo, one of them hostile: the other reports one line and runs nothing it is sent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

SCRIPT = """
import os, sys
from pathlib import Path
import torch, torch.distributed as dist
from offramp_base.errors import OfframpError
from offramp.workers.group import GlooGroup
from offramp.workers.traffic import Traffic

class Trap:
    def __reduce__(self):
        return (Path.touch, (Path(sys.argv[3]),))

store, rank, _, way = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
group = GlooGroup(store, rank, 2)
if way == "honest":
    rows = group.introduce(bytes([rank] * 9))
    assert rows == [bytes([0] * 9), bytes([1] * 9)], rows
    jobs = [Traffic(1), Traffic(7, lost=3)] if rank == 0 else None
    mine = group.scatter(jobs, Traffic)
    found = group.gather(mine, Traffic)
    assert found == ([Traffic(1), Traffic(7, lost=3)] if rank == 0 else None), found
    group.close()
elif rank == 1:
    if way == "introduce":
        dist.all_gather_object([None] * 2, Trap())
    elif way == "pickle":
        import pickle
        from offramp.workers import messages
        messages.send(bytearray(pickle.dumps(Trap())), 0)
    elif way == "long":
        dist.send(torch.tensor([1 << 62]), 0)
    elif way == "negative":
        dist.send(torch.tensor([-1]), 0)
    elif way == "row":
        row = torch.full((1024,), 255, dtype=torch.uint8)
        dist.all_gather([torch.empty_like(row) for _ in range(2)], row)
else:
    try:
        group.introduce(b"x") if way in ("introduce", "row") else group.gather(Traffic(), Traffic)
    except (OfframpError, RuntimeError) as error:
        print(type(error).__name__, error)
    else:
        print("nothing was refused")
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.parametrize(
    ("way", "line"),
    [
        ("honest", ""),
        ("pickle", "OfframpError rank 1 sent no message of Traffic: "),
        ("long", f"OfframpError rank 1 announces a message of {1 << 62} bytes, expected at most {1 << 30}"),
        ("negative", "OfframpError rank 1 announces a message of -1 bytes"),
        ("row", f"OfframpError rank 1 introduces itself with {0xFFFFFFFF} bytes, expected at most 1020"),
        ("introduce", None),
    ],
)
def test_a_hostile_rank_runs_nothing(tmp_path: Path, way: str, line: str | None) -> None:
    flag, script = tmp_path / "flag", tmp_path / "rank.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), (tmp_path / "store").as_uri(), str(rank), str(flag), way],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        out, err = ranks[0].communicate(timeout=60)
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()
    assert not flag.exists()
    if line is not None:
        assert ranks[0].returncode == 0, err
        assert out.startswith(line)
        assert out.count("\n") == (1 if line else 0)
    # PyTorch's own objects are other collectives: gloo refuses tensors of another size, or mixes them up.
