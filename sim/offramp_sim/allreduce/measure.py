# SPDX-License-Identifier: Apache-2.0
"""Ranks in processes of their own around the embedded switch; every sum is compared with NumPy's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from offramp_base.ending.children import ends_with_parent
from offramp_base.ending.left import temporary_folder
from offramp_base.errors import OfframpError
from offramp_base.iproute import enter_namespace
from offramp_p4.bench.namespace import in_namespace
from offramp_p4.embedded import EmbeddedSwitch
from offramp_sim.allreduce.experiment import MEGABYTE, AllReduceTimings, Experiment, SizeTiming
from offramp_sim.allreduce.rated import INTERFACE, RatedLinks
from offramp_sim.peers import answers, ask, peers

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    import numpy.typing as npt

_STEP_S = 600.0
_TIMEOUT_S = 120.0
_ERROR = 2.0**-22
"""Error bound of a float32 sum, relative to the sum of the greatest magnitudes of its chunk."""


def measure(experiment: Experiment, note: Callable[[str], None] = lambda _: None) -> AllReduceTimings:
    """Sum tensors of every size, alternating between ours and gloo.

    Args:
        experiment: the experiment to run.
        note: called with what is being done.

    Raises:
        OfframpError: a wrong sum, or a rank or the switch that failed; no right to make rated links.
    """
    if experiment.rate_bps is not None:
        return in_namespace(lambda: _measure(experiment, note))
    return _measure(experiment, note)


def _measure(experiment: Experiment, note: Callable[[str], None]) -> AllReduceTimings:
    from offramp.p4src import p4_text
    from offramp_base.p4rt.session import Session

    with temporary_folder() as folder, _switch(experiment) as (switch, spaces):
        note("loading the program")
        sizes = {"SEGMENTS": experiment.segments, "PAGES": experiment.pages}
        with Session(switch.address) as session:
            session.push(b"", p4_text("allreduce/v1model.p4", sizes).encode())
        store = Path(folder) / "store"
        links = switch.port_specs
        items = [
            (rank, experiment, link, switch.address, switch.port_numbers, str(store), space)
            for rank, (link, space) in enumerate(zip(links, spaces, strict=True))
        ]
        with peers(_rank, items) as group:
            note("starting the ranks")
            answers(group, "all_reduce", _STEP_S)
            ways = ["offramp", "gloo"] if experiment.compare else ["offramp"]
            timings = []
            for megabytes in experiment.size:
                seconds: dict[str, list[float]] = {way: [] for way in ways}
                for round_ in range(experiment.rounds + 1):  # the first is not counted
                    for way in ways:
                        note(f"{megabytes:g} MB, {way}, round {round_} of {experiment.rounds}")
                        took = max(ask(group, (way, megabytes, round_), "all_reduce", _STEP_S))
                        seconds[way] += [took] if round_ else []
                timings += [SizeTiming(way, megabytes, tuple(seconds[way])) for way in ways]
            counts = ask(group, None, "all_reduce", _STEP_S)
    sent, repeated, lost = (sum(count[at] for count in counts) for at in range(3))
    return AllReduceTimings(tuple(timings), sent, repeated, lost)


@contextmanager
def _switch(experiment: Experiment) -> Iterator[tuple[EmbeddedSwitch, list[int | None]]]:
    """The switch, and for each rank the process whose namespace it joins, if not this one."""
    ports = range(1, experiment.ranks + 1)
    with ExitStack() as stack:
        if experiment.rate_bps is None:
            switch = EmbeddedSwitch(None, ports, transport=experiment.transport)
            yield stack.enter_context(switch), [None] * experiment.ranks
            return
        rated = stack.enter_context(RatedLinks(experiment.ranks, experiment.rate_bps, experiment.mtu))
        switch = stack.enter_context(EmbeddedSwitch(None, ports, interfaces=rated.switch_ends))
        switch.port_specs = rated.host_ends
        yield switch, list(rated.spaces)


def tensor(rank: int, megabytes: float, seed: int) -> npt.NDArray[np.float32]:
    """Tensor that a rank contributes."""
    rng = np.random.default_rng((seed, rank))
    return rng.standard_normal(int(megabytes * MEGABYTE) // 4, np.float32)


def _rank(pipe: Connection, rank: int, *work: Any) -> None:
    """Run one rank: it sends the seconds of each step and then its counts, or an error."""
    ends_with_parent()
    try:
        _work(pipe, rank, *work)
    except Exception as error:  # the parent must learn of any failure
        pipe.send(f"rank {rank}: {str(error) or type(error).__name__}")


def _work(
    pipe: Connection,
    rank: int,
    experiment: Experiment,
    link: str,
    control: str,
    ports: list[int],
    store: str,
    space: int | None,
) -> None:
    from offramp.allreduce.reducer import AllReduceNetwork, AllReducer
    from offramp_base.transport import open_io
    from offramp_base.transport.faulty import FaultRates, Faulty

    if space is not None:
        enter_namespace(f"/proc/{space}/ns/net")
    gloo = _gloo(rank, experiment.ranks, store, space is not None) if experiment.compare else None
    network = AllReduceNetwork(link, control, ports, pages=experiment.pages, segments=experiment.segments)
    faults = FaultRates(loss=experiment.loss)
    plain = open_io(link)
    io = Faulty(plain, seed=experiment.seed + rank, sending=faults, receiving=faults) if experiment.loss else plain
    with closing(AllReducer(network, rank, experiment.ranks, 1 + os.getppid(), _TIMEOUT_S, io=io)) as reducer:
        pipe.send(0.0)
        known: tuple[float, Any, Any] | None = None
        while (step := pipe.recv()) is not None:
            way, megabytes, _ = step
            if known is None or known[0] != megabytes:
                tensors = [tensor(each, megabytes, experiment.seed) for each in range(experiment.ranks)]
                known = (megabytes, tensors[rank], np.sum(tensors, axis=0, dtype=np.float64))
                del tensors
            array = known[1].copy()
            start = time.perf_counter()
            reducer.all_reduce(array) if way == "offramp" else gloo(array)  # type: ignore[misc]
            took = time.perf_counter() - start
            if np.abs(array - known[2]).max(initial=0) > _ERROR * 8 * experiment.ranks:
                raise OfframpError(f"all_reduce of {megabytes:g} MB by {way}: a wrong sum")
            pipe.send(took)
        pipe.send((reducer.stats.sent, reducer.stats.repeated, reducer.link.lost))
        pipe.poll(None)  # others may still be closing


def _gloo(rank: int, ranks: int, store: str, rated: bool) -> Callable[[npt.NDArray[np.float32]], None]:
    """PyTorch's all_reduce over gloo, on the same links."""
    os.environ["GLOO_SOCKET_IFNAME"] = INTERFACE if rated else "lo"
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)

    def all_reduce(array: npt.NDArray[np.float32]) -> None:
        distributed.all_reduce(torch.from_numpy(array))

    return all_reduce
