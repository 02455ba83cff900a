# SPDX-License-Identifier: Apache-2.0
"""The four applications: what they store, read and add is right on every path, alone and mixed."""

from __future__ import annotations

import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

from offramp.leo.applications import allreduce, dfs, ebs, kvs
from offramp.leo.applications.compare import running
from offramp.leo.applications.load import closed_loop, open_loop
from offramp.leo.applications.workload import Zipf
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester
from offramp.leo.selection import Policy

FAST = {"acc": "model:service_us=300,memo=1"}


@pytest.mark.full
@pytest.mark.parametrize(
    "application",
    [
        kvs.application({"acc": "model:service_us=20", "slow": "model:service_us=60"}, mix="B", keys=5000),
        dfs.application(FAST),
        ebs.application({"acc": "model:service_us=50"}, size="64K"),
        allreduce.application(FAST),
    ],
    ids=lambda a: a.name.split()[0],
)
def test_every_answer_is_right_on_every_path(application):
    with running(application) as run:
        for paths in [(p,) for p in application.paths] + [application.paths]:
            outcome, names = run(paths, {}, Policy.UNIFORM, 1, None, 0.1)
            assert outcome.sent > 0
            assert outcome.wrong == 0
            taken = dict(zip(names, outcome.by_path.tolist(), strict=True))
            assert sum(taken.values()) == outcome.sent
            if len(paths) > 1 and outcome.sent > 100:
                assert all(taken[p] for p in paths)


@pytest.mark.full
def test_files_are_in_the_responders_memory():
    application = dfs.application(FAST)
    process = ResponderProcess(application.plan)
    devices = application.local()
    try:
        asked = application.program(("acc-acc",), {})
        requester = Requester(asked, [process], devices, application.settings)
        files = dfs.FileWorkload(7)
        outcome = closed_loop(requester, files, 0.05, 8)
        while outcome.sent < dfs.FILES * dfs.CHUNKS:
            outcome = closed_loop(requester, files, 0.3, 8)
        stored = process.host.memory.view(np.uint8)[: files.payload.size]
        assert zlib.crc32(stored.tobytes()) == zlib.crc32(files.payload.tobytes())
        requester.close()
    finally:
        for device in devices.values():
            device.close()
        process.close()


@pytest.mark.full
def test_an_open_loop_counts_from_when_a_request_was_due():
    application = kvs.application({}, keys=1000)
    process = ResponderProcess(application.plan)
    try:
        requester = Requester(application.program(("cpu",), {}), [process], settings=application.settings)
        outcome = open_loop(requester, application.workload(1), 0.3, 2000, seed=3)
        assert outcome.wrong == 0
        assert 400 < outcome.sent < 800
        assert (outcome.latency_ns > 0).all()
        requester.close()
    finally:
        process.close()


@pytest.mark.full
def test_writes_are_read_back():
    application = kvs.application({}, mix="B", keys=50)
    process = ResponderProcess(application.plan)
    try:
        requester = Requester(application.program(("cpu",), {}), [process], settings=application.settings)
        workload = application.workload(1)
        outcome = closed_loop(requester, workload, 0.1, 64)
        requester.close()
        assert outcome.wrong == 0
        values = process.host.memory[8 : 8 + 50 * 8].reshape(50, 8)
        assert values[:, 0].tolist() == workload.all_keys.tolist()
        batch = workload.batch(0, outcome.sent)
        last = {int(k): n + 1 for n, (k, t) in enumerate(zip(batch.keys, batch.types, strict=True)) if t == kvs.PUT}
        assert last
        assert {int(k): int(v) for k, v in values[:, :2] if int(k) in last} == last
    finally:
        process.close()


def test_zipf_is_ycsbs():
    draws = Zipf(1000).draw(np.random.default_rng(1), 200_000)
    weights = np.arange(1, 1001) ** -0.99
    expected = weights / weights.sum()
    shares = np.bincount(draws, minlength=1000) / len(draws)
    assert abs(shares[:10] - expected[:10]).max() < 0.005
    assert draws.min() == 0
    assert draws.max() == 999


def test_a_draw_beyond_the_last_share_is_the_last_rank() -> None:
    class Last:
        def random(self, count: int) -> np.ndarray:
            return np.full(count, 1.5)  # the shares may add up to a little less than any draw

    assert Zipf(7).draw(Last(), 2).tolist() == [6, 6]  # type: ignore[arg-type]


@pytest.mark.full
def test_vectors_of_ranks_are_added_over_paths(tmp_path):
    torch = pytest.importorskip("torch")
    ranks = 2
    program = Path(__file__).parents[2] / "support" / "leo_ranks.py"
    outs = [tmp_path / f"out{rank}" for rank in range(ranks)]
    commands = [
        [sys.executable, str(program), str(r), str(ranks), str(tmp_path / "meet"), str(o)] for r, o in enumerate(outs)
    ]
    processes = [subprocess.Popen(command) for command in commands]
    try:
        assert [p.wait(timeout=280) for p in processes] == [0] * ranks
    finally:
        for process in processes:
            process.kill()
            process.wait()
    results = [torch.load(out) for out in outs]
    for rank in results:
        for ours, expected in zip(rank["found"], rank["expected"], strict=True):
            assert torch.allclose(ours, expected, rtol=1e-6, atol=1e-6)
        assert sum(rank["by_path"].values()) > 2
    for rank in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(rank["found"], results[0]["found"], strict=True))


def test_the_time_of_reads_goes_on_when_the_trace_repeats() -> None:
    """Else volumes' buckets are empty one day, and every later read waits."""
    reads, length = ebs.Reads(65536, 1), 1 << 14
    ticks = []
    for lap in range(3):
        batch = reads.batch(lap * length, 4)
        message = batch.payload[: ebs.ebs.REQUEST.size].tobytes()
        ticks.append(ebs.ebs.REQUEST.unpack(message)[3])
        time.sleep(1e-5)
    assert 0 < ticks[0] < ticks[1] < ticks[2]
