# SPDX-License-Identifier: Apache-2.0
"""A rank whose laboratory was killed ends by itself, even while it waits for ranks that never come."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from offramp_base.ending.owner import PREFIX, owner_of

pytestmark = pytest.mark.full

pytest.importorskip("torch")


def test_a_rank_ends_with_the_process_that_its_folder_names(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as holder:
        folder = tmp_path / f"{PREFIX}{owner_of(holder.pid)}-exchanges"
        folder.mkdir()
        place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
        place |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(20_000 + os.getpid() % 10_000)}
        command = [sys.executable, "-m", "offramp_sim.exchanges.rank", str(folder)]
        with subprocess.Popen(command, env=os.environ | place, stderr=subprocess.DEVNULL) as rank:
            with pytest.raises(subprocess.TimeoutExpired):
                rank.wait(3)
            holder.kill()
            holder.wait()
            assert rank.wait(120) == 1
