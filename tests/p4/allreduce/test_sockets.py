# SPDX-License-Identifier: Apache-2.0
"""Ranks whose machine code moves its frames over a socket by itself: exact sums, trouble, and links that end."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from allreduce_lab import JOB, Star, equal, make
from allreduce_oracle import exact_sum, random_tensor
from frames import arrived
from offramp.allreduce import wire
from offramp.allreduce.compiled import CompiledAllReduceEndpoint
from offramp.allreduce.link_rank import LinkRank
from offramp.allreduce.shared_link import open_shared
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4.ports.udp import UdpPort
from offramp_p4.ports.unix import UnixPort
from switchgnn_channel import UnrulyChannel

pytestmark = pytest.mark.p4

RANKS, SEGMENTS, PAGES = 3, 32, 2
LANES, WINDOW = wire.LANES * SEGMENTS, PAGES * wire.PAGE // 2
TYPES = ("float32", "int64", "float64", "float16", "uint8")
Ends = list[UnixPort] | list[UdpPort]


class Network:
    """Ports of a switch that runs in a thread, over links that lose, double and delay frames.

    Attributes:
        ends: the ports, the first of rank 0.
        paused: while it is set, the switch takes nothing.
    """

    def __init__(self, ends: Ends, trouble: float) -> None:
        self.ends, self.paused, self._stopping = ends, threading.Event(), threading.Event()
        self._star = Star(make("v1model-native", SEGMENTS), RANKS, pages=range(PAGES))
        self._channel = UnrulyChannel(7, trouble, trouble, trouble)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while not self._stopping.is_set():
            if self.paused.is_set() or not self._turn():
                time.sleep(0.0005)

    def _turn(self) -> bool:
        frames = [(rank + 1, frame) for rank, end in enumerate(self.ends) for frame in arrived(end).frames()]
        out = self._channel(PacketBatch.of(frames))
        for port, frame in self._star.process(out):
            self.ends[port - 1].send(PacketBatch.of([(port, frame)]))
        for end in self.ends:
            end.flush()
        return bool(len(out))

    def stop(self) -> None:
        """End the switch; its ports stay."""
        self._stopping.set()
        self._thread.join()

    def close(self) -> None:
        """End the switch and its links."""
        self.stop()
        for end in self.ends:
            end.close()


@pytest.fixture
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Network]:
    """A network over the sockets and with the trouble that the test names."""
    kind, trouble = getattr(request, "param", ("unix", 0.0))
    if kind == "unix":
        ends: Ends = [UnixPort(tmp_path / str(rank)) for rank in range(RANKS)]
    else:
        ends = [UdpPort("127.0.0.1:0") for _ in range(RANKS)]
    with closing(Network(ends, trouble)) as opened:
        yield opened


def rank_of(network: Network, rank: int) -> LinkRank:
    endpoint = CompiledAllReduceEndpoint(rank, RANKS, JOB, pages=PAGES, segments=SEGMENTS, flight=100, retry_s=0.02)
    return LinkRank(endpoint, open_shared(network.ends[rank].name, JOB), burst=64, tick_s=0.005)


def sums(network: Network, given: list[list[np.ndarray]], link: bool = False) -> list[object]:
    """What each rank gets of these tensors: the arrays, or the message of what it raises."""
    results: list[object] = [None] * RANKS

    def run(rank: int) -> None:
        one = rank_of(network, rank)
        try:
            arrays = [tensor[rank].copy() for tensor in given]
            for array in arrays:
                one.begin(array)
            one.finish(20.0)
            results[rank] = (arrays, one.link.sent, one.stats.sent, one.link.malformed) if link else arrays
        except OfframpError as error:
            results[rank] = str(error)
        finally:
            time.sleep(0.2 if network.ends[0].name.startswith("udp") else 0)
            one.close()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def tensors(count: int = 5_000) -> list[list[np.ndarray]]:
    rng = np.random.default_rng(5)
    return [random_tensor(rng, dtype, count, RANKS) for dtype in TYPES]


@pytest.mark.parametrize(
    "network",
    [("unix", 0.0), ("udp", 0.0), ("unix", 0.05), ("udp", 0.05)],
    indirect=True,
    ids=lambda p: f"{p[0]} {p[1]}",
)
def test_sums_are_exact_and_counted(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(network.ends[0], UnixPort):
        monkeypatch.delattr(CompiledAllReduceEndpoint, "outgoing")  # which Python would carry
    given = tensors()
    for got in sums(network, given, link=True):
        assert isinstance(got, tuple), got
        arrays, carried, sent, _ = got
        for array, tensor in zip(arrays, given, strict=True):
            assert equal(array, exact_sum(tensor, LANES, WINDOW))
        assert carried == sent > 20


def test_messages_that_are_none_are_counted(network: Network) -> None:
    given = tensors(500)
    stopping = threading.Event()

    def spoil() -> None:
        while not stopping.wait(0.001):
            host = network.ends[1]._host
            if host is not None:
                with contextlib.suppress(OSError):
                    host.send(b"\0\0\1\0garbage")

    spoiler = threading.Thread(target=spoil)
    spoiler.start()
    results = sums(network, given, link=True)
    stopping.set()
    spoiler.join()
    for got in results:
        assert isinstance(got, tuple), got
        assert all(equal(array, exact_sum(tensor, LANES, WINDOW)) for array, tensor in zip(got[0], given, strict=True))
    assert [got[3] > 0 for got in results] == [False, True, False]


def test_a_switch_that_takes_nothing_for_a_while_holds_its_ranks_back(network: Network) -> None:
    given = [[np.full(1_000_000, rank + 1, np.int32) for rank in range(RANKS)]]
    network.paused.set()
    threading.Timer(0.3, network.paused.clear).start()
    for got in sums(network, given):
        assert isinstance(got, list), got
        assert (got[0] == sum(range(RANKS + 1))).all()


def test_a_link_that_ends_is_one_line(network: Network) -> None:
    one = rank_of(network, 0)
    one.begin(np.zeros(10))
    threading.Timer(0.1, network.close).start()
    before = time.monotonic()
    with pytest.raises(OfframpError, match=r"rank 0: all_reduce 0: unix:.*/0: the switch closed the link$"):
        one.finish(20.0)
    assert time.monotonic() - before < 10
    one.close()


@pytest.mark.parametrize("network", [("udp", 0.0)], indirect=True)
def test_a_port_that_nobody_has_any_more_is_one_line(network: Network) -> None:
    one = rank_of(network, 0)
    one.begin(np.zeros(10))
    with pytest.raises(OfframpError, match="nothing came from ranks 1, 2 for"):
        one.finish(0.2)  # it has an answer, so its machine code has the socket
    network.stop()
    network.ends[0].close()
    with pytest.raises(OfframpError, match=r"udp:127.0.0.1:\d+: Connection refused$"):
        one.finish(20.0)
    one.close()


def test_a_signal_ends_the_wait(network: Network) -> None:
    one = rank_of(network, 0)
    one.begin(np.zeros(10))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before, handler = time.monotonic(), signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            one.finish(20.0)
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert time.monotonic() - before < 10
    one.close()
