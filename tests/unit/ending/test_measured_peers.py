# SPDX-License-Identifier: Apache-2.0
"""Processes that a measurement starts end with the one that started them, and leave nothing in ``/dev/shm``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp.leo.profile import peers
from offramp_base.errors import OfframpError

pytestmark = pytest.mark.full

SEMAPHORES = Path("/dev/shm")

SHARED = (
    "from offramp.leo.profile.peers import measure_shared\nif __name__ == '__main__':\n    measure_shared(1 << 30)\n"
)
EXCHANGE = """
from offramp_sim.transports.exchange import measure_exchange
if __name__ == '__main__':
    measure_exchange('udp', 3600.0, vertices=60)
"""


def of_the_group(group: int) -> list[int]:
    """Its processes, without zombies."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            pids.append(int(stat.parent.name))
    return pids


@pytest.fixture
def measuring(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    script = tmp_path / "measure.py"
    script.write_text(request.param)
    process = subprocess.Popen([sys.executable, str(script)], process_group=0, stderr=subprocess.DEVNULL)
    yield process
    for pid in of_the_group(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait()


def until(condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not (done := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(done)


def busy(pid: int) -> bool:
    """Whether a process has computed for longer than a start takes, which only one that polls memory does."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) > 3 * os.sysconf("SC_CLK_TCK")


@pytest.mark.full
@pytest.mark.parametrize("measuring", [SHARED], indirect=True)
def test_who_polls_memory_ends_with_who_started_it(measuring: subprocess.Popen[bytes]) -> None:
    assert until(lambda: sum(map(busy, of_the_group(measuring.pid))) == 2, 120), "both poll"
    measuring.kill()
    assert until(lambda: not of_the_group(measuring.pid), 10)


@pytest.mark.full
@pytest.mark.parametrize("measuring", [EXCHANGE], indirect=True)
def test_an_exchange_leaves_no_semaphores(measuring: subprocess.Popen[bytes]) -> None:
    before = set(SEMAPHORES.iterdir())
    assert until(lambda: len(of_the_group(measuring.pid)) >= 6, 120), "switch and workers run"
    os.killpg(measuring.pid, signal.SIGKILL)
    assert until(lambda: not of_the_group(measuring.pid), 10)
    assert not {path for path in set(SEMAPHORES.iterdir()) - before if path.name.startswith("sem.mp-")}


def test_a_peer_that_dies_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    started = peers._Peer.__enter__

    def kill(self: peers._Peer) -> peers._Peer:
        started(self)
        self._process.kill()
        return self

    monkeypatch.setattr(peers._Peer, "__enter__", kill)
    with pytest.raises(OfframpError, match=r"^profile: the other process was killed by SIGKILL$"):
        peers.measure_shared()
