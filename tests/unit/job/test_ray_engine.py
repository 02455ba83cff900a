# SPDX-License-Identifier: Apache-2.0
"""Ray as an engine, with as much of Ray as it asks for, whose tasks are processes of this machine.

Blind to what the real one does with tasks whose program or node ends: ``tests/cluster``.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace

import pytest

from offramp.job.engine import ENGINES
from offramp.job.ranks import RankProcesses
from offramp.job.settings import JobSettings
from offramp.workers import ray_ranks
from offramp.workers.host_ranks import run_ranks
from offramp.workers.ray_ranks import FAILED, run_on_ray
from offramp_base.errors import OfframpError


class FakeRay:
    """Tasks run in threads of this process; a cancelled one is left alone."""

    class RayError(Exception):
        pass

    def __init__(self, nodes: dict[str, str], pool: ThreadPool) -> None:
        self.exceptions = SimpleNamespace(RayError=self.RayError)
        self.pool, self.asked, self.cancelled = pool, list[dict[str, object]](), 0
        self.listed = [
            {
                "NodeManagerAddress": address,
                "NodeManagerHostname": name,
                "NodeID": f"id-{name}",
                "Alive": name != "dead",
            }
            for address, name in nodes.items()
        ]

    def init(self, address, **_):
        if address == "nowhere:1":
            raise ConnectionError("nobody\nthere")

    def nodes(self):
        return self.listed

    def remote(self, function):
        def options(**asked):
            self.asked.append(asked)
            return SimpleNamespace(remote=lambda *arguments: self.pool.apply_async(function, arguments))

        return SimpleNamespace(options=options)

    def wait(self, tasks):
        while True:
            for task in tasks:
                if task.ready():
                    return [task], [each for each in tasks if each is not task]
            time.sleep(0.01)

    def get(self, task):
        return task.get()

    def cancel(self, _, force):
        self.cancelled += force

    def shutdown(self):
        self.asked.append({"shutdown": True})


@pytest.fixture
def ray(monkeypatch):
    """A cluster with a node for each host of the racks, and one that is dead."""
    with ThreadPool(4) as pool:
        fake = FakeRay({**{f"10.0.0.{n}": f"h{n}" for n in range(1, 5)}, "10.0.0.9": "dead"}, pool)
        strategies = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda **words: words)
        monkeypatch.setitem(sys.modules, "ray", fake)
        monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)
        yield fake


def place(rank: int, size: int = 4) -> dict[str, str]:
    """Variables of a rank."""
    at = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
    return {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", **at}


def places(tmp_path: Path, text: str, *hosts: str, each: int = 1) -> dict[str, object]:
    ranks = [place(rank, len(hosts) * each) for rank in range(len(hosts) * each)]
    return {
        "command": ["sh", "-c", text],
        "working_folder": str(tmp_path),
        "logs": str(tmp_path),
        "hosts": [
            {"address": host, "gpus": 2 * at, "environments": ranks[at * each : (at + 1) * each]}
            for at, host in enumerate(hosts)
        ],
    }


def test_each_host_has_a_task_on_its_node_with_its_gpus(ray, tmp_path):
    assert run_on_ray(places(tmp_path, "echo $RANK; pwd", "10.0.0.2", "h4", each=2), "head:6379") is None
    assert [asked.get("num_gpus") for asked in ray.asked] == [0, 2, None]
    assert [asked["scheduling_strategy"] for asked in ray.asked[:2]] == [
        {"node_id": "id-h2", "soft": False}, {"node_id": "id-h4", "soft": False}
    ]  # fmt: skip
    for rank in range(4):
        assert (tmp_path / f"rank-{rank}.log").read_text().split() == [str(rank), str(tmp_path)]


def test_the_first_rank_that_fails_is_named_and_ends_the_others(ray, tmp_path):
    begun = time.monotonic()
    failed = run_on_ray(places(tmp_path, "test $RANK != 3 || exit 7; exec sleep 30", "h1", "h2", each=2), "head:6379")
    assert failed == (3, 7)
    assert ray.cancelled == 1
    assert time.monotonic() - begun < 25
    assert ENGINES.get("ray")().failed_rank(FAILED.format(rank=3, status=7)) == 3
    ray.pool.terminate()


@pytest.mark.parametrize(
    ("host", "address", "message"),
    [
        ("h1", "nowhere:1", r"^nowhere:1: no Ray cluster answers there: nobody$"),
        ("10.0.0.9", "head:1", r"^the cluster has no node at 10.0.0.9, but at 10.0.0.1, .*, h4$"),
    ],
)
def test_a_cluster_without_the_host_is_refused_in_a_line(ray, tmp_path, host, address, message):
    with pytest.raises(OfframpError, match=message):
        run_on_ray(places(tmp_path, "touch ran", host), address)
    assert not (tmp_path / "ran").exists()


def test_a_node_that_dies_is_said_in_a_line(ray, tmp_path, monkeypatch, capsys):
    def dies(_):
        raise ray.RayError("The node died\nand more")

    monkeypatch.setattr(ray, "get", dies)
    with pytest.raises(OfframpError, match=r"^The node died$"):
        run_on_ray(places(tmp_path, "true", "h1"), "head:1")


def test_the_engine_writes_places_that_only_this_user_reads(racks, tmp_path, monkeypatch):
    job = JobSettings(command=("prog", "--x"), environment=("SECRET=1",))
    (command,) = ENGINES.get("ray")().commands(RankProcesses(job, racks, racks.hosts, None, tmp_path)._placed())
    assert (list(command.words[1:]), command.ranks) == (
        ["-m", "offramp.workers.ray_ranks", str(tmp_path / "ray.json")], range(4)
    )  # fmt: skip
    assert stat.S_IMODE((tmp_path / "ray.json").stat().st_mode) == 0o600
    text = (tmp_path / "ray.json").read_text()
    assert '"RANK": "3"' in text
    assert text.count('"SECRET": "1"') == 4


def test_the_engine_needs_the_package_and_an_address(monkeypatch):
    engine = ENGINES.get("ray")()
    monkeypatch.setattr("offramp.job.engines.ray.find_spec", lambda _: None)
    with pytest.raises(OfframpError, match=r"^engine ray: needs the package ray: .*\[?ray"):
        engine.check()
    monkeypatch.setattr("offramp.job.engines.ray.find_spec", lambda _: 1)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(OfframpError, match=r"^engine ray: RAY_ADDRESS is not set: "):
        engine.check()
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    engine.check()


def test_a_program_that_is_missing_is_a_status_and_not_an_error(tmp_path):
    assert run_ranks(["no-such-program"], [place(0)], str(tmp_path), str(tmp_path)) == (0, 127)
    assert "no-such-program: No such file" in (tmp_path / "rank-0.log").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ranks_end_with_the_task_that_started_them_however_it_ends(tmp_path, number):
    text = "from offramp.workers.host_ranks import run_ranks\nimport sys\n"
    text += f"run_ranks(['sh', '-c', 'echo $$; exec sleep 60'], {[place(0), place(1)]}, *sys.argv[1:])"
    task = subprocess.Popen([sys.executable, "-c", text, str(tmp_path), str(tmp_path)])
    logs = [tmp_path / f"rank-{rank}.log" for rank in range(2)]
    deadline = time.monotonic() + 60
    while not all(log.is_file() and log.read_text().strip() for log in logs):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    task.send_signal(number)
    task.wait()
    for log in logs:
        while Path(f"/proc/{log.read_text().strip()}").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_command_without_its_parent_is_killed(tmp_path):
    """Ray kills what a task has started: the program must not outlive the process that watches its connection."""
    words = [sys.executable, "-m", "offramp.workers.run_rank", "--while-connected", "--log", str(tmp_path), "--"]
    watcher = subprocess.Popen([*words, "sh", "-c", "echo $$; exec sleep 60"], stdin=subprocess.PIPE)
    log = tmp_path / "rank-0.log"
    deadline = time.monotonic() + 60
    while not (log.is_file() and log.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    watcher.kill()
    watcher.wait()
    assert watcher.stdin is not None
    watcher.stdin.close()
    while Path(f"/proc/{log.read_text().strip()}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_command_says_the_rank_that_failed(ray, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(ray_ranks.signal, "signal", lambda *_: None)
    monkeypatch.setattr(ray_ranks, "run_on_ray", lambda *_: (2, 9))
    (tmp_path / "ray.json").write_text("{}")
    monkeypatch.setattr(sys, "argv", ["ray_ranks", str(tmp_path / "ray.json")])
    with pytest.raises(SystemExit) as ended:
        ray_ranks.main()
    assert ended.value.code == "rank 2 ended with status 9"
    assert os.environ.get("RAY_ADDRESS") is None
