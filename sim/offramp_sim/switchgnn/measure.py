# SPDX-License-Identifier: Apache-2.0
"""One exchange under a scheme through an embedded switch: its sums, its bytes and its time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_array

from offramp.graph.boundary import Boundary
from offramp.switchgnn.control import sizes_for
from offramp.switchgnn.exchange import Exchange
from offramp.switchgnn.exchange_plan import own_boundary, plan_exchange
from offramp.switchgnn.scheme import LANE_BITS
from offramp.switchgnn.scheme_plan import SchemePlan
from offramp.train.propagators.quantised import QuantisedPropagator
from offramp.workers.traffic import Traffic
from offramp_base.errors import OfframpError
from offramp_base.wire.batch import PacketBatch
from offramp_p4 import PlainSwitch
from offramp_sim.switchgnn import direct
from offramp_sim.switchgnn.lockstep import Lockstep
from offramp_sim.switchgnn.thread_group import SharedLockstep, ThreadGroup, run_group

Process = Callable[[PacketBatch], PacketBatch]


@dataclass(frozen=True)
class MeasuredExchange:
    """Results of one exchange.

    Attributes:
        sums: ``(vertices, F)`` sums, zero for vertices without remote neighbours.
        traffic: traffic of all workers; DONE and GO are counted.
        data_up, data_down: packets with a payload to and from the switch.
        seconds: processor time of switch and workers; other work on the machine does not count.
        switch_seconds: the switch's part of it.
    """

    sums: npt.NDArray[np.generic]
    traffic: Traffic
    data_up: int
    data_down: int
    seconds: float
    switch_seconds: float


def make_switch_for(plan: SchemePlan, engine: str = "auto") -> PlainSwitch:
    """An embedded switch whose program has just enough room for ``plan``, which is loaded."""
    from offramp.p4src import p4_source
    from offramp_p4 import make_switch
    from offramp_p4.frontend import load
    from offramp_p4.optimising import OptimiseWhen

    sizes = {name: str(size) for name, size in sizes_for([plan.plan]).items()}
    program = load(p4_source("switchgnn/v1model.p4"), defines=sizes)
    switch = make_switch(program, engine, optimise=OptimiseWhen.AT_ONCE)
    direct.load(switch, [plan.plan], ports_of(plan))
    return switch


def ports_of(plan: SchemePlan) -> list[int]:
    """A switch port for each worker."""
    return list(range(1, plan.boundary.workers + 1))


def check_exchange(plan: SchemePlan, process: Process, seed: int = 0) -> MeasuredExchange:
    """:func:`run_exchange` of random values; if the scheme is exact, the sums must be those of the cut edges.

    Raises:
        OfframpError: they are not.
    """
    boundary = plan.boundary
    rng = np.random.default_rng(seed)
    shape = len(boundary.owner), plan.features
    if plan.scheme.bits < LANE_BITS:
        return run_exchange(plan, rng.standard_normal(shape, np.float32), process, seed)
    most = (2**31 - 1) // max(int(boundary.need.max(initial=0)), 1)
    values = rng.integers(-most, most, shape, np.int32, endpoint=True)
    measured = run_exchange(plan, values, process, seed)
    if not np.array_equal(measured.sums, remote_sums(boundary, values)):
        raise OfframpError(f"scheme {plan.scheme}: the sums are not those of the cut edges")
    return measured


def remote_sums(boundary: Boundary, values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """``(vertices, F)`` sums over remote neighbours, straight from the cut edges: int64 of integers, else float64."""
    exact = np.issubdtype(values.dtype, np.integer)
    wide = values.astype(np.int64 if exact else np.float64)
    n = len(boundary.owner)
    u, v = boundary.cut_edges.T
    half = csr_array((np.ones(len(u), wide.dtype), (u, v)), shape=(n, n))
    return np.asarray(half @ wide + half.T @ wide)


def run_exchange(
    plan: SchemePlan, values: npt.NDArray[np.int32] | npt.NDArray[np.float32], process: Process, seed: int = 0
) -> MeasuredExchange:
    """Exchange ``(vertices, F)`` values through the switch ``process``, on which ``plan`` is loaded.

    Integers are added unchanged (their sums must fit int32); with a scheme of fewer than 32 bits, floats are quantised
    with ``seed``.
    """
    boundary = plan.boundary
    spent = 0.0

    def timed(batch: PacketBatch) -> PacketBatch:
        nonlocal spent
        before = time.process_time()
        out = process(batch)
        spent += time.process_time() - before
        return out

    shared = SharedLockstep(Lockstep([plan.plan], ports_of(plan), timed))
    plans = [plan_exchange(plan, worker) for worker in range(boundary.workers)]
    fan_in = int(boundary.need.max(initial=0))
    spent = 0.0

    def work(group: ThreadGroup) -> tuple[npt.NDArray[np.generic], Traffic]:
        exchange = Exchange(plans[group.rank], shared.end_of(group.rank), group)
        mine = values[own_boundary(plan, group.rank)]
        if plan.scheme.bits == LANE_BITS:
            return exchange.sum(mine.astype(np.int32)), exchange.traffic()
        propagator = QuantisedPropagator({plan.features: exchange}, plan.scheme.bits, fan_in, seed)
        return propagator.exchange(torch.from_numpy(np.asarray(mine, np.float32))).numpy(), propagator.traffic

    start = time.process_time()
    outcomes = run_group(boundary.workers, work)
    seconds = time.process_time() - start
    sums: npt.NDArray[np.generic] = np.zeros(values.shape, np.int64 if plan.scheme.bits == LANE_BITS else np.float64)
    total = Traffic()
    for worker, (result, traffic) in enumerate(outcomes):
        sums[own_boundary(plan, worker)] = result
        total += traffic
    stats = [shared.stats(worker) for worker in range(boundary.workers)]
    return MeasuredExchange(
        sums,
        total,
        sum(s.up.data_packets for s in stats),
        sum(s.down.data_packets for s in stats),
        seconds,
        spent,
    )
