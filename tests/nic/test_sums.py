# SPDX-License-Identifier: Apache-2.0
"""All-reduce in the agent, through the P4 program on veth: exact sums beside ranks that send their own frames."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

import namespaces
from allreduce_lab import equal
from allreduce_oracle import exact_sum, random_tensor
from nic_agent import agent_arguments, cards, where_links_are
from offramp.allreduce.control import with_control, with_session
from offramp.allreduce.entries import star
from offramp.allreduce.nic_rank import NicRank
from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
from offramp.nic import wire
from offramp.nic.process import AgentProcess
from offramp.nic.rings import Submission
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_p4.embedded import EmbeddedSwitch

pytestmark = pytest.mark.nic
R = TypeVar("R")
EMULATED_S = 300.0
"""Most that a program may take to compile where the processor is emulated (docs/how-to/guest.md)."""
TENSORS = [("float32", 20_000), ("int64", 3_000), ("float16", 65), ("uint8", 1), ("float64", 700), ("int32", 0)]


class Net:
    """A switch with the program for all-reduce, and an agent on the first ports.

    Attributes:
        agent: its process.
        links: links of each port, as ranks take them.
        switch: the switch; its ports are those of ``ports``.
    """

    def __init__(self, stack: ExitStack, programs: Path, ranks: int, own: int, segments: int) -> None:
        wires = cards("interface")
        far = [interface for _, interface in wires]
        ports = list(range(1, ranks + 1))
        self.switch = stack.enter_context(
            EmbeddedSwitch(None, ports, transport="af_packet", interfaces=far, compile_seconds=EMULATED_S)
        )
        text = p4_text("allreduce/v1model.p4", {"PAGES": 2, "SEGMENTS": segments}).encode()
        with_session(self.switch.address, lambda session: session.push(b"", text), EMULATED_S)
        ends = [port for port, _ in wires] or [spec.partition(":")[2] for spec in self.switch.port_specs]
        nic = ends[: ranks - own]
        program = programs / "offramp-nic-agent"
        self.agent = stack.enter_context(AgentProcess(nic, program=program, arguments=agent_arguments()))
        self.links = [f"nic:{self.agent.path}#{i}" for i in range(len(nic))]
        self.links += list(self.switch.port_specs[len(nic) :])
        self.ports, self.segments = ports, segments

    @contextmanager
    def job(self, timeout_s: float = 30.0) -> Iterator[list[AllReducer]]:
        """All ranks of a job."""
        job = time.monotonic_ns() & 0xFFFF_FFFF
        with ExitStack() as stack:
            reducers: list[AllReducer] = []
            stack.callback(lambda: at_once(reducers, lambda _, rank: rank.close(5.0)))
            for rank, link in enumerate(self.links):
                address, segments = self.switch.address, self.segments
                network = AllReduceNetwork(link, address, self.ports, pages=2, segments=segments, retry_s=0.1)
                reducers.append(AllReducer(network, rank, len(self.links), job, timeout_s))
            yield reducers

    @contextmanager
    def nic_ranks(self, timeout_s: float = 30.0, loss: float = 0.0) -> Iterator[list[NicRank]]:
        """Ranks of the agent alone, of a job that the switch has."""
        job, world = 7, len(self.links)
        with_control(self.switch.address, lambda control: control.admit(job, star(self.ports), 2), timeout_s)
        with ExitStack() as stack:
            yield [
                stack.enter_context(
                    closing(NicRank(link, rank, world, job, timeout_s, pages=2, retry_s=0.05, loss=loss, seed=rank))
                )
                for rank, link in enumerate(self.links)
            ]


def at_once(ranks: Sequence[R], work: Callable[[int, R], object]) -> list[object]:
    """``work`` of each rank in a thread of its own: what it returns, or the message of its error."""

    def run(number: int) -> object:
        try:
            return work(number, ranks[number])
        except OfframpError as error:
            return str(error)

    with ThreadPoolExecutor(len(ranks)) as pool:
        return list(pool.map(run, range(len(ranks))))


def on_a_net(programs: Path, work: Callable[[Net], None], ranks: int = 3, own: int = 0, segments: int = 1) -> None:
    """``work`` on a network whose last ``own`` ranks send their frames themselves."""
    if own and os.environ.get("OFFRAMP_NIC_LINKS"):
        pytest.skip("all links are the agent's")

    def inside() -> None:
        with ExitStack() as stack:
            work(Net(stack, programs, ranks, own, segments))

    namespaces.require()
    where_links_are(inside)


def check(ranks: Sequence[R], sum_: Callable[[R, np.ndarray], None], segments: int = 1, tensors=TENSORS) -> None:
    """Sums of all types against exact arithmetic."""
    rng = np.random.default_rng(segments)
    for name, count in tensors:
        given = random_tensor(rng, name, count, len(ranks))
        expected = exact_sum(given, 64 * segments, 256)
        arrays = [array.copy() for array in given]
        assert at_once(ranks, lambda rank, own, arrays=arrays: sum_(own, arrays[rank])) == [None] * len(ranks)
        assert all(equal(array, expected) for array in arrays), (name, count)


def summed(rank: NicRank, array: np.ndarray, timeout_s: float) -> None:
    rank.begin(array)
    rank.finish(timeout_s)


def nic_sum(rank: NicRank, array: np.ndarray) -> None:
    summed(rank, array, 30.0)


@pytest.mark.netns
@pytest.mark.parametrize(("own", "segments"), [(0, 1), (2, 4)])
def test_sums_are_exact(programs: Path, own: int, segments: int) -> None:
    def work(net: Net) -> None:
        with net.job() as ranks:
            check(ranks, AllReducer.all_reduce, segments)
            assert all(rank.stats.results > 100 for rank in ranks)
            assert all(rank.link.sent >= rank.stats.sent for rank in ranks)

    on_a_net(programs, work, own=own, segments=segments)


@pytest.mark.netns
def test_what_is_lost_is_repeated(programs: Path) -> None:
    def work(net: Net) -> None:
        with net.nic_ranks(loss=0.05) as ranks:
            check(ranks, nic_sum)
            assert all(rank.stats.repeated > 0 for rank in ranks)

    on_a_net(programs, work)


@pytest.mark.netns
def test_infinities_and_a_sum_that_does_not_fit(programs: Path) -> None:
    def work(net: Net) -> None:
        with net.nic_ranks() as ranks:
            arrays = [np.full(500, value, np.float32) for value in (1.0, np.inf, -np.inf)]
            arrays[2][:250] = 2.0
            at_once(ranks, lambda rank, own: nic_sum(own, arrays[rank]))
            assert all(np.isposinf(array[:250]).all() and np.isnan(array[250:]).all() for array in arrays)
            large = [np.full(70, 100, np.int8) for _ in ranks]
            said = at_once(ranks, lambda rank, own: nic_sum(own, large[rank]))
            assert said == [f"rank {rank}: all_reduce 1: the sum of element 0 does not fit int8" for rank in range(3)]
            again = at_once(ranks, lambda rank, own: nic_sum(own, arrays[rank]))
            assert again == said  # nothing goes on after an error

    on_a_net(programs, work)


@pytest.mark.netns
def test_a_rank_that_never_comes_is_named(programs: Path) -> None:
    def work(net: Net) -> None:
        with net.nic_ranks(timeout_s=0.5) as ranks:
            array = np.ones(100, np.float32)
            said = at_once(ranks[:2], lambda _, own: summed(own, array.copy(), 0.5))
            assert said == [f"rank {rank}: all_reduce 0: nothing came from rank 2 for 0.5 s" for rank in range(2)]

    on_a_net(programs, work)


@pytest.mark.netns
def test_tensors_that_differ_are_one_line(programs: Path) -> None:
    def work(net: Net) -> None:
        with net.nic_ranks() as ranks:
            said = at_once(ranks, lambda rank, own: nic_sum(own, np.ones(10 + (rank == 2), np.float32)))
            assert said[0] == "rank 0: all_reduce 0: rank 2 sums float32[11], this rank float32[10]"

    on_a_net(programs, work)


@pytest.mark.slow
@pytest.mark.netns
def test_an_agent_that_dies_or_hangs_is_one_line(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("offramp.allreduce.nic_rank._PATIENCE_S", 0.5)
    monkeypatch.setattr("offramp.nic.connection.ANSWER_S", 1.0)

    def work(net: Net) -> None:
        with net.nic_ranks() as ranks:
            check(ranks, nic_sum, tensors=[("int32", 300)])
            os.kill(net.agent.pid, signal.SIGSTOP)
            try:
                with pytest.raises(OfframpError, match="timed out"):
                    summed(ranks[0], np.ones(10, np.float32), 30.0)
            finally:
                os.kill(net.agent.pid, signal.SIGCONT)
            net.agent.kill()
            with pytest.raises(OfframpError, match="the agent is gone"):
                summed(ranks[1], np.ones(10, np.float32), 30.0)

    on_a_net(programs, work)


@pytest.mark.netns
def test_descriptors_that_lie_change_nothing(programs: Path) -> None:
    def work(net: Net) -> None:
        with net.nic_ranks() as ranks:
            check(ranks, nic_sum, tensors=[("int32", 300)])
            rank, most = ranks[0], 2**64 - 8
            lies = {
                "all_reduce: type 0: there is none": (0, 0, 1, 0, 0),
                "all_reduce: type 12: there is none": (12, 0, 1, 0, 0),
                "all_reduce: a tensor outside of the memory": (1, 1, 1 << 40, 0, 0),
                "all_reduce: a tensor outside of the memory ": (1, 1, 2, most, 0),
                "all_reduce: a tensor outside of the memory  ": (1, 1, 2, 0, most),
                "all_reduce: a tensor outside of the memory   ": (2, 1, 2, 4, 0),
                "status": (1, 99, 1, 0, 0),
            }
            for said, (type_, region, *places) in lies.items():
                message = wire.SUM.pack(type_, region, *places)
                rank._memory.view[rank._message_at : rank._message_at + len(message)] = message
                where = rank._region, rank._message_at, len(message), rank._region, rank._answer_at, 1024
                rank._rings.submit(Submission(1, wire.NicFunction.ALLREDUCE, *where))
                with pytest.raises(OfframpError, match=said.strip()):
                    rank._wait("a lie", 30.0)
            check(ranks, nic_sum)

    on_a_net(programs, work)


def test_packets_that_no_port_holds_are_refused() -> None:
    with pytest.raises(OfframpError, match="packets of 32 segments: expected at most 16 and 4"):
        NicRank("nic:/nowhere#0", 0, 2, 1, 1.0, segments=32)
    with pytest.raises(OfframpError, match="17 pages"):
        NicRank("nic:/nowhere#0", 0, 2, 1, 1.0, pages=17)
