# SPDX-License-Identifier: Apache-2.0
"""Single packets: what each comes to, the same on Tofino as on v1model, and nothing from those who may not send it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from allreduce_lab import ENGINES, JOB, PAGES, Star, equal, lockstep, make, program
from offramp.allreduce import entries
from offramp.allreduce.wire import LANES, SWITCH, AllReducePacketType, blank_frames, parse_frames, set_field, set_lanes
from offramp.p4src import p4_source
from offramp.switchgnn.leaf_spine import LeafSpine
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_p4.lint.one_access import violations
from offramp_p4.tna.resources import estimate
from offramp_sim.allreduce import direct

pytestmark = pytest.mark.p4


def frame(value: int = 1, **fields: int) -> bytes:
    """A contribution of rank 0 to chunk 1, with ``value`` in all lanes."""
    packets = blank_frames(0, JOB, 1, 1)
    for name, number in {"chunk": 1, **fields}.items():
        set_field(packets, name, number)
    set_lanes(packets, np.full((1, LANES), value, np.int32))
    return packets[0].tobytes()


def sent(switch: PlainSwitch, *frames: tuple[int, bytes]) -> list[tuple[int, bytes]]:
    """Frames that leave, in the order of ports."""
    return sorted(switch.process(PacketBatch.of(list(frames))))


@pytest.mark.full
def test_both_programs_send_the_same_packets() -> None:
    switches = [make("v1model-native"), make("tna-native")]
    network = LeafSpine((0, 0, 1))
    for switch in switches:
        direct.load(switch, entries.star([1, 2, 3]), JOB, [1, 2])
        direct.load(switch, entries.leaf(network, 0), 7, [0], group=2)
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(3000):
        rank, kind = int(rng.integers(0, 4)), int(rng.integers(0, 5))
        fields = {"job": int(rng.choice([JOB, 7, 9])), "rank": rank, "kind": kind, "line": int(rng.integers(0, 3))}
        fields |= {"chunk": int(rng.integers(1, 4)), "page": int(rng.integers(0, 3))}
        fields |= {"exponent": int(rng.integers(0, 1 << 16)), "flags": int(rng.integers(0, 4))}
        if rng.random() < 0.1:
            fields["rank"] = SWITCH
        packet = frame(int(rng.integers(-(2**29), 2**29)), **fields)
        if rng.random() < 0.05:
            packet = packet[: int(rng.integers(14, len(packet)))]
        port = int(rng.integers(1, 5)) if rng.random() < 0.3 else rank + 1
        one, other = (sent(switch, (port, packet)) for switch in switches)
        assert one == other
        seen.add((len(one), kind))
    counts = [direct.outcomes(switch) for switch in switches]
    assert counts[0] == counts[1]
    assert all(count for name, count in counts[0].items() if name not in ("foreign", "superseded"))
    assert direct.strangers(switches[0]) == direct.strangers(switches[1])


@pytest.mark.parametrize(
    "forged",
    [
        (2, {}),
        (9, {}),
        (1, {"rank": 1}),
        (1, {"job": 9}),
        (1, {"page": 1}),
        (1, {"kind": AllReducePacketType.RESULT}),
        (1, {"kind": AllReducePacketType.PULL}),
    ],
)
def test_a_forged_frame_is_a_strangers_and_changes_nothing(switch, forged) -> None:
    direct.load(switch, entries.star([1, 2]), JOB, [1])
    port, fields = forged
    assert sent(switch, (port, frame(99, **fields))) == []
    assert direct.strangers(switch) == {port: 1}
    assert sent(switch, (1, frame(3))) == []
    out = sent(switch, (2, frame(4, rank=1)))
    assert [port for port, _ in out] == [1, 2]
    assert (parse_frames(PacketBatch.of(out), 1).lanes() == 7).all()


def test_again_asks_for_what_is_missing_and_answers_who_asks_alone(switch) -> None:
    direct.load(switch, entries.star([1, 2]), JOB, [1])
    pulls = parse_frames(PacketBatch.of(sent(switch, (1, frame(3, kind=AllReducePacketType.AGAIN)))), 1)
    assert pulls.field("kind").tolist() == [AllReducePacketType.PULL] * 2
    assert pulls.field("present").tolist() == [1, 1]
    assert len(sent(switch, (2, frame(4, rank=1)))) == 2
    assert sent(switch, (1, frame(3))) == []  # a duplicate of the network's
    out = sent(switch, (1, frame(3, kind=AllReducePacketType.AGAIN)))
    assert [port for port, _ in out] == [1]
    assert (parse_frames(PacketBatch.of(out), 1).lanes() == 7).all()
    assert sent(switch, (1, frame(3, chunk=2))) == []
    assert sent(switch, (2, frame(4, rank=1, kind=AllReducePacketType.AGAIN))) == []  # of the chunk before
    assert direct.outcomes(switch)["stale"] == 1


def test_jobs_at_once_do_not_touch_each_other(switch) -> None:
    ports = [1, 2, 3]
    jobs = [JOB, 5]
    for at, job in enumerate(jobs):
        direct.load(switch, entries.star(ports), job, [at], group=at + 1)
    runs = [lockstep(_Shared(switch, ports), at, 0.1) for at in range(2)]
    for run, job in zip(runs, jobs, strict=True):
        run.endpoints = [engine(rank, 3, job, retry_s=20) for rank, engine in enumerate((*ENGINES, ENGINES[0]))]
    rng = np.random.default_rng(2)
    given = [[rng.integers(-(2**20), 2**20, 5000).astype(np.int32) for _ in ports] for _ in jobs]
    arrays = [[array.copy() for array in each] for each in given]
    for run, each in zip(runs, arrays, strict=True):
        for endpoint, array in zip(run.endpoints, each, strict=True):
            endpoint.begin(array)
    while not all(endpoint.idle for run in runs for endpoint in run.endpoints):
        for run in runs:
            run.step()
    for each, before in zip(arrays, given, strict=True):
        assert all(equal(array, np.sum(before, axis=0, dtype=np.int32)) for array in each)


class _Shared(Star):
    """A switch that has its entries already."""

    def __init__(self, switch: PlainSwitch, ports: list[int]) -> None:
        self.switch, self.ports = switch, ports


@pytest.mark.full
def test_a_sum_that_is_replaced_between_its_passes_is_not_sent_in_halves() -> None:
    """A Tofino fetches the upper lanes in a second pass; here the slot's chunk changes in between."""
    switch = make("tna-native")
    direct.load(switch, entries.star([1, 2]), JOB, [1])
    sent(switch, (1, frame(3)), (2, frame(4, rank=1)))
    name = next(name for name in switch.registers if name.endswith(".chunk"))
    line = bytes([1, 0, 0, 1, 0, 0])  # page 1, line 0, group 1
    whole = frame(7, kind=AllReducePacketType.RESULT, rank=SWITCH)
    assert len(sent(switch, (68, line + whole))) == 2
    switch.registers[name].write(256, 3)
    assert sent(switch, (68, line + whole)) == []
    assert direct.outcomes(switch)["superseded"] == 1


def test_the_program_for_tofino_takes_twelve_stages_and_one_access_of_each_register() -> None:
    assert PAGES * 256 == 1024
    assert violations(program("v1model")) == []
    assert [report.fits for report in estimate(program("tna"))] == [True]


@pytest.mark.parametrize("segments", [1, 4])
def test_p4c_takes_the_program(segments: int, tmp_path: Path) -> None:
    if not shutil.which("p4c-bm2-ss"):
        pytest.skip("p4c-bm2-ss is not on PATH")
    command = ["p4c-bm2-ss", "--std", "p4-16", f"-DSEGMENTS={segments}", p4_source("allreduce/v1model.p4")]
    done = subprocess.run([*command, "-o", tmp_path / "out.json"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
