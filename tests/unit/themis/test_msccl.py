# SPDX-License-Identifier: Apache-2.0
"""MSCCL programs of plans, executed on arrays; what the interpreter finds in programs that are wrong; their times.

Blind to: whether MSCCL's runtime itself does what its source says.
"""

from __future__ import annotations

import copy
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from offramp.themis import Collective, Demand, Dimension, Network, best_bound, make_plan
from offramp.themis.kinds import DimensionTopology
from offramp.themis.msccl import MscclProgram, program_of, read_program, to_xml
from offramp.themis.msccl.document import parse
from offramp.themis.msccl.program import GpuBuffer, Place, StepType
from offramp.themis.msccl.transfers import peer_transfers
from offramp.themis.schedule import sent_bytes
from offramp.themis.system_file import SystemFile
from offramp_base.errors import OfframpError
from offramp_sim.themis.msccl import faults, time_on

RING, FULL, SWITCH = list(DimensionTopology)[:3]
SUMS = (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER)
MIB = 1 << 20


def drawn(seed: int, latency_ns: float = 500) -> tuple[Network, MscclProgram, int, float]:
    """A network, a program for it, its size in bytes, and the plan's time in picoseconds."""
    draw = random.Random(seed)
    dimensions: list[Dimension] = []
    npus = 1
    for _ in range(draw.randint(1, 3)):
        kind, size = draw.choice((RING, FULL, SWITCH)), draw.randint(1, 6)
        if npus * size <= 32:
            npus *= size
            one_way = draw.choice((None, False)) if kind is RING else None
            rate = draw.choice((50e9, 100e9, 400e9))
            dimensions.append(Dimension(kind, size, rate, latency_ns, bidirectional=one_way))
    if npus == 1:
        dimensions.append(Dimension(SWITCH, 3, 100e9, latency_ns))
    network = Network("drawn", tuple(dimensions))
    collective, size = draw.choice(SUMS), draw.choice((MIB, 64 * MIB))
    scheduler = draw.choice(("baseline", "themis+scf", "balanced"))
    plan = make_plan(network, [Demand(collective, size)], scheduler, draw.randint(1, 5))
    program = program_of(plan, channels=draw.choice((1, 1, 2)), in_place=draw.random() < 0.6)
    return network, program, size, plan.finish_ps


@pytest.mark.parametrize("seed", [*range(12), *(pytest.param(k, marks=pytest.mark.full) for k in range(12, 100))])
def test_programs_are_right_and_survive_their_xml(seed: int) -> None:
    network, program, size, _ = drawn(seed)
    assert faults(program, seed=seed) == []
    assert parse(to_xml(program)) == program
    assert time_on(program, network, size).finish_ps > 0


def test_what_is_sent_is_what_the_plan_sends() -> None:
    network = Network("3x4x2", (Dimension(SWITCH, 3, 9e10), Dimension(RING, 4, 8e10), Dimension(FULL, 2, 5e10)))
    for collective in SUMS:
        size = 24 * 5 * 1024
        plan = make_plan(network, [Demand(collective, size)], "themis+scf", 5)
        timing = time_on(program_of(plan), network, size)
        assert timing.sent == pytest.approx(sent_bytes(network, plan.stages()))


@pytest.mark.parametrize("seed", range(24))
def test_without_latency_a_program_takes_what_was_planned(seed: int) -> None:
    """Stages of one chunk may overlap in a program, and its blocks may queue: not the plan's time to the bit."""
    network, program, size, planned = drawn(seed, latency_ns=0)
    bound = best_bound(network, [Demand(program.collective, size)]).finish_ps
    took = time_on(program, network, size).finish_ps
    assert took >= 0.9 * bound  # whole units stand for unequal chunks
    assert took <= 1.15 * planned


@pytest.mark.parametrize("peers", [2, 3, 5, 8])
@pytest.mark.parametrize("kind", [RING, FULL, SWITCH])
def test_a_single_stage_takes_its_closed_form(kind: DimensionTopology, peers: int) -> None:
    network = Network("one", (Dimension(kind, peers, 80e9, 1000, bidirectional=False if kind is RING else None),))
    plan = make_plan(network, [Demand(Collective.ALL_GATHER, peers * 10**6)], "baseline", 1)
    d = network.dimensions[0]
    took = time_on(program_of(plan), network, peers * 10**6).finish_ps
    transfer, fixed = d.transfer_ps(Collective.ALL_GATHER, 10**6), d.fixed_ps(Collective.ALL_GATHER)
    # Bruck's last round, where it is shorter than those before it, sends what is there from the beginning.
    assert took <= transfer + fixed
    assert took >= transfer + (fixed if peers & (peers - 1) == 0 or kind is not SWITCH else d.latency_ns * 1e3)


def test_algorithms_of_a_system_file() -> None:
    (ring,) = Network("r", (Dimension(RING, 4, 1e9),)).dimensions
    direct = SystemFile(algorithms=(("direct",),) * 4).on(Network("r", (ring,))).dimensions[0]
    assert len(list(peer_transfers(ring, Collective.REDUCE_SCATTER))) == 12
    assert {m.blocks for m in peer_transfers(direct, Collective.ALL_GATHER) if m.source == 1} == {(1,)}
    with pytest.raises(OfframpError, match="all-to-all on a ring dimension: expected sums and all-gathers"):
        list(peer_transfers(ring, Collective.ALL_TO_ALL))


def test_unequal_chunks_become_whole_units() -> None:
    network = Network("4x5", (Dimension(SWITCH, 4, 1e11), Dimension(SWITCH, 5, 5e10)))
    plan = make_plan(network, [Demand(Collective.ALL_REDUCE, 64 * MIB)], "balanced", 5)
    assert len({chunk.size for chunk in plan.schedules[0].chunks}) > 1
    program = program_of(plan)
    assert program.chunks > 5 * network.npus
    assert faults(program) == []


SQUARE = Network("4x2", (Dimension(RING, 4, 1e11, 100), Dimension(SWITCH, 2, 5e10, 100)))


def program() -> MscclProgram:
    return program_of(make_plan(SQUARE, [Demand(Collective.ALL_REDUCE, MIB)], "themis+scf", 2))


def test_a_wait_that_is_missing_is_a_race() -> None:
    """Each wait alone: without it there is a race, or the message that it waited for orders the two anyway."""
    right = program()
    waits = [
        (g, b, s)
        for g, gpu in enumerate(right.gpus)
        for b, block in enumerate(gpu.blocks)
        for s, step in enumerate(block.steps)
        if step.after
    ]
    caught = 0
    for g, b, s in waits[:12]:
        wrong = copy.deepcopy(right)
        wrong.gpus[g].blocks[b].steps[s].after = None
        lines = faults(wrong)
        caught += any(line.startswith("race: gpu") for line in lines)
    assert caught >= 8


def test_a_wait_for_a_silent_step_deadlocks() -> None:
    wrong = program()
    for step in wrong.gpus[3].blocks[0].steps:
        step.signals = False
    (line,) = [line for line in faults(wrong) if "deadlock" in line]
    assert "of tb 0, which signals nothing" in line
    with pytest.raises(OfframpError, match="deadlock: gpu"):
        time_on(wrong, SQUARE, MIB)


def test_a_message_that_is_missing_deadlocks_or_stays() -> None:
    wrong = program()
    block = next(block for block in wrong.gpus[0].blocks if block.send >= 0)
    last = max(s for s, step in enumerate(block.steps) if step.type is StepType.SEND)
    del block.steps[last]
    assert any("deadlock" in line and "waits for a chunk from gpu 0" in line for line in faults(wrong))
    unread = program()
    block = next(block for block in unread.gpus[0].blocks if block.receive >= 0)
    del block.steps[-1]
    assert any(line.startswith("mismatch: gpu 0 never receives") for line in faults(unread))


def test_the_wrong_chunk_is_a_wrong_result() -> None:
    wrong = program()
    step = next(step for step in wrong.steps() if step.type is StepType.SEND)
    step.source = Place(step.source.buffer, (step.source.offset + 1) % wrong.chunks)
    assert any(line.startswith("wrong result: gpu") for line in faults(wrong))


def test_receiving_another_number_of_chunks_is_a_mismatch() -> None:
    wrong = program_of(make_plan(SQUARE, [Demand(Collective.ALL_REDUCE, MIB)], "baseline", 1))
    step = next(step for step in wrong.steps() if step.type is StepType.SEND and step.count == 2)
    step.count = 1
    assert any("mismatch: gpu" in line and "that gpu" in line for line in faults(wrong))


def test_an_exchange_of_more_chunks_than_a_connection_holds() -> None:
    """Each GPU first sends all, then receives: right with the eight chunks of LL, a deadlock with the two of Simple."""
    tb = '<tb id="0" send="{0}" recv="{0}" chan="0">{1}</tb>'
    step = (
        '<step s="{}" type="{}" srcbuf="i" srcoff="{}" dstbuf="o" dstoff="{}" cnt="3" depid="-1" deps="-1" hasdep="0"/>'
    )
    gpus = "".join(
        f'<gpu id="{rank}" i_chunks="6" o_chunks="6" s_chunks="0">'
        + tb.format(1 - rank, step.format(0, "s", 3 - 3 * rank, 0) + step.format(1, "r", 0, 3 - 3 * rank))
        + '<tb id="1" send="-1" recv="-1" chan="-1">'
        + step.format(0, "cpy", 3 * rank, 3 * rank)
        + "</tb></gpu>"
        for rank in (0, 1)
    )
    head = '<algo name="x" proto="LL" nchannels="1" nchunksperloop="6" ngpus="2" coll="alltoall" inplace="0">'
    assert faults(parse(f"{head}{gpus}</algo>")) == []
    (line,) = faults(parse(f"{head}{gpus}</algo>".replace("LL", "Simple")))
    assert line.startswith(
        "deadlock: 2 thread blocks cannot go on, where a connection holds 2 chunks: gpu 0 tb 0 step 0"
    )


EVERY_STEP = """<algo name="every" proto="LL" nchannels="1" nchunksperloop="3" ngpus="3" coll="allreduce" inplace="0">
  <gpu id="0" i_chunks="3" o_chunks="3" s_chunks="3">
    <tb id="0" send="1" recv="2" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rcs" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="-1">
      <step s="0" type="cpy" srcbuf="i" srcoff="2" dstbuf="o" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="1"/>
      <step s="1" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="2" deps="0" hasdep="0"/>
      <step s="2" type="re" srcbuf="s" srcoff="1" dstbuf="o" dstoff="2" cnt="1" depid="2" deps="1" hasdep="0"/>
      <step s="3" type="re" srcbuf="s" srcoff="0" dstbuf="o" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="2" send="-1" recv="1" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="1"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="3" send="1" recv="-1" chan="1">
      <step s="0" type="s" srcbuf="o" srcoff="2" dstbuf="o" dstoff="2" cnt="1" depid="1" deps="3" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="3" o_chunks="3" s_chunks="1">
    <tb id="0" send="2" recv="0" chan="0">
      <step s="0" type="rrs" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="0" recv="2" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="2" dstbuf="i" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rcs" srcbuf="i" srcoff="2" dstbuf="s" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="2" send="2" recv="0" chan="1">
      <step s="0" type="rcs" srcbuf="i" srcoff="2" dstbuf="o" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="2" i_chunks="3" o_chunks="3" s_chunks="0">
    <tb id="0" send="0" recv="1" chan="0">
      <step s="0" type="rrcs" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="1" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="2" dstbuf="i" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
    <tb id="2" send="-1" recv="1" chan="1">
      <step s="0" type="r" srcbuf="i" srcoff="2" dstbuf="o" dstoff="2" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
"""


def test_every_step_by_hand() -> None:
    """Chunks 0 and 1 go round and add up, chunk 2 is gathered and added at GPU 0, and copied on."""
    every = parse(EVERY_STEP)
    assert {step.type for step in every.steps()} == set(StepType) - {StepType.RECEIVE_REDUCE_COPY}
    assert faults(every) == []
    racing = EVERY_STEP.replace('srcoff="2" dstbuf="s" dstoff="0"', 'srcoff="2" dstbuf="o" dstoff="1"')
    assert any(line.startswith("race: gpu 1") for line in faults(parse(racing)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<algo", "<algo <", "expected XML: "),
        ("<algo", "<!DOCTYPE x [<!ENTITY a 'b'>]><algo", "expected XML without a document type"),
        ('coll="allreduce"', 'coll="broadcast"', "algo: coll broadcast: expected one of allreduce"),
        ('proto="LL"', 'proto="Fast"', "algo: proto Fast: expected one of Simple, LL, LL128"),
        ('nchunksperloop="3"', "", "algo: nchunksperloop: expected a value"),
        ('s_chunks="3"', 's_chunks="10000000"', "gpu 0: s_chunks 10000000: expected a whole number from 0 to 1048576"),
        ('ngpus="3"', 'ngpus="many"', "algo: ngpus many: expected a whole number from 2"),
        ('<gpu id="2"', '<gpu id="1"', "gpu 1: for a second time"),
        ('<tb id="1" send="1"', '<tb id="0" send="1"', "gpu 2: tb 0: for a second time"),
        ('<tb id="3" send="1"', '<tb id="4" send="1"', "gpu 0: tb: expected numbers from 0 to 3"),
        ('<tb id="2" send="-1" recv="1"', '<tb id="2" send="-1" recv="-1"', "gpu 0: tb 2: step 0: r: expected a peer"),
        ('<step s="1" type="rcs"', '<step s="7" type="rcs"', "gpu 0: tb 0: step 1: expected steps in order"),
        ('type="cpy"', 'type="fly"', "gpu 0: tb 1: step 0: type fly: expected one of s, r"),
        ('srcbuf="s"', 'srcbuf="z"', "srcbuf z: expected one of i, o, s"),
        ('depid="2" deps="1"', 'depid="2" deps="9"', r"gpu 0: tb 1: step 2: depid, deps \(2, 9\): no such step"),
        ('dstbuf="s" dstoff="1"', 'dstbuf="s" dstoff="5"', "gpu 0: tb 2: step 1: chunks 5 to 5 of buffer s: it has 3"),
        ('<tb id="3" send="1"', '<tb id="3" send="0"', "gpu 0: tb 3: expected another GPU as its peer"),
        ('send="1" recv="-1" chan="1"', 'send="1" recv="-1" chan="0"', "gpu 0: tb 3: send 1 on channel 0 is tb 0's"),
        ('coll="allreduce" inplace', 'coll="allgather" x="" inplace', "buffer i: it has 1"),
    ],
)
def test_bad_files_are_refused_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "bad.xml"
    assert old in EVERY_STEP
    path.write_text(EVERY_STEP.replace(old, new, 1))
    with pytest.raises(OfframpError, match=message) as caught:
        read_program(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_more_memory_than_can_be_checked() -> None:
    text = EVERY_STEP.replace('nchunksperloop="3"', 'nchunksperloop="1048576"').replace('ngpus="3"', 'ngpus="9"')
    gpus = "".join(f'<gpu id="{k}" i_chunks="1" o_chunks="1" s_chunks="0"/>' for k in range(3, 9))
    with pytest.raises(OfframpError, match="18874372 chunks on 9 GPUs: expected at most 16777216"):
        parse(text.replace("</algo>", f"{gpus}</algo>"))


def test_what_cannot_be_exported() -> None:
    demand = [Demand(Collective.ALL_REDUCE, MIB)]
    plan = make_plan(SQUARE, demand, "baseline", 64)
    with pytest.raises(OfframpError, match="more than 256 steps in a thread block: expected fewer chunks"):
        program_of(plan)
    with pytest.raises(OfframpError, match="40 channels: expected 1 to 32"):
        program_of(plan, channels=40)
    summing = replace(SQUARE, dimensions=(Dimension(DimensionTopology.IN_NETWORK, 4, 1e9),))
    with pytest.raises(OfframpError, match="in-network dimension: expected dimensions whose GPUs send"):
        program_of(make_plan(summing, demand, "baseline", 1))
    with pytest.raises(OfframpError, match="not an all-to-all"):
        program_of(make_plan(SQUARE, [Demand(Collective.ALL_TO_ALL, MIB)], "baseline", 1))
    with pytest.raises(OfframpError, match="a plan for one collective of all GPUs"):
        program_of(make_plan(SQUARE, demand * 2, "baseline", 1))
    with pytest.raises(OfframpError, match="8 GPUs: two has 2"):
        time_on(program(), Network("two", (Dimension(SWITCH, 2, 1e9),)), MIB)


def test_buffers_in_place_share_memory() -> None:
    shared = program_of(make_plan(SQUARE, [Demand(Collective.REDUCE_SCATTER, MIB)], "baseline", 1))
    assert {step.target.buffer for step in shared.steps() if step.type.writes} == {GpuBuffer.INPUT}
    assert faults(shared) == []


FOLDER = os.environ.get("OFFRAMP_MSCCL_INPUTS")


@pytest.mark.slow
@pytest.mark.skipif(FOLDER is None, reason="OFFRAMP_MSCCL_INPUTS names no folder with MSCCL XML files")
def test_files_of_others() -> None:
    """Each is right, and runs."""
    assert FOLDER is not None
    seen = 0
    for path in sorted(Path(FOLDER).rglob("*.xml")):
        theirs = read_program(path)
        assert faults(theirs) == [], path
        network = Network("theirs", (Dimension(SWITCH, len(theirs.gpus), 2.4e12, 500),))
        assert time_on(theirs, network, MIB).finish_ps > 0
        seen += 1
    assert seen
