# SPDX-License-Identifier: Apache-2.0
"""One rank: its namespace, its endpoint, its coflows, and the time at which each of them ended here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from offramp.hermod.endhost.priorities import Priorities
from offramp.hermod.endhost.tuning import Tuning
from offramp_base.errors import OfframpError
from offramp_base.wire.objects import sendable
from offramp_sim.hermod.lab.addresses import INTERFACE, address, mac
from offramp_sim.hermod.lab.namespace import bring_up, enter_new
from offramp_sim.hermod.lab.scenario import KINDS, LAYERS, MICRO_BATCHES, LabScenario

if TYPE_CHECKING:
    import torch

    from offramp.hermod.endhost.all_reduce import AllReduce
    from offramp.hermod.endhost.endpoint import Endpoint
    from offramp.hermod.endhost.messages import Messages
    from offramp.hermod.operator import AllToAll
    from offramp.workers.group import Group

_LATE_S: Final = 120.0
_WARM_UP: Final = 1000
_Spans = dict[str, tuple[float, float]]


def priorities(scenario: LabScenario) -> Priorities:
    """Priorities that hosts and switch share."""
    if not scenario.priorities:
        return Priorities.off()
    return Priorities.of_job(MICRO_BATCHES, LAYERS, queues=scenario.queues, apart=scenario.apart)


@dataclass(frozen=True, slots=True)
class RankInstructions:
    """Instructions for a rank: what to run, and the files that signal a working switch and the start of the coflows."""

    scenario: LabScenario
    ready: str
    begun: str


@sendable
@dataclass(frozen=True, slots=True)
class Observation:
    """Observations of one rank.

    Attributes:
        rounds: begin and end of each coflow in each round, in seconds.
        wrong: coflows whose contents arrived changed.
        sent: bytes by DSCP.
    """

    rounds: list[dict[str, tuple[float, float]]]
    wrong: list[str]
    sent: dict[int, int]


def rank_work(group: Group, place: RankInstructions, report: Callable[[Any], None]) -> list[Observation] | None:
    """Run the scenario; returns each rank's observation on rank 0."""
    import torch

    from offramp.hermod.endhost.group import endpoint_of

    enter_new()
    scenario = place.scenario
    report((group.rank, threading.get_native_id()))
    bring_up(INTERFACE, mac(group.rank), f"{address(group.rank)}/24")
    _await(Path(place.ready))
    # Small buffers: bytes in the kernel can no longer be overtaken at this host.
    tuning = Tuning(chunk=1 << 15, unsent=1 << 14, congestion=scenario.congestion, timeout_s=_LATE_S, dead_s=_LATE_S)
    with endpoint_of(None, priorities(scenario), where=INTERFACE, tuning=tuning, token=group.token) as endpoint:
        rounds, wrong = _run(group, endpoint, scenario, Path(place.begun))
        group.sum(torch.zeros(1))  # nobody leaves before all have what they wait for
        seen = Observation(rounds, wrong, endpoint.sent_bytes)
    return group.gather(seen, Observation)


def _await(ready: Path) -> None:
    end = time.monotonic() + _LATE_S
    while not ready.exists():
        if time.monotonic() > end:
            raise OfframpError(f"the switch did not start in {_LATE_S:g} s")
        time.sleep(0.01)


def _run(group: Group, endpoint: Endpoint, scenario: LabScenario, begins: Path) -> tuple[list[_Spans], list[str]]:
    """Spans of the coflows at this rank in each round, and those whose contents were wrong."""
    import torch

    from offramp.hermod.endhost.all_reduce import AllReduce
    from offramp.hermod.endhost.messages import Messages
    from offramp.hermod.operator import AllToAll

    size = group.size
    sums, line = AllReduce(endpoint), Messages(endpoint)
    rounds, wrong = [], []
    with AllToAll(endpoint=endpoint, quantum=0, plain_below=1, timeout_s=_LATE_S) as operator:
        # Connections and machine code, as after the first iteration of a job.
        few = torch.zeros(size * _WARM_UP, dtype=torch.uint8)
        operator.all_to_all_single(torch.empty_like(few), few, factors=scenario.factors("EP"))
        for k in range(2):
            sums.start(few, scenario.factors(f"DP-{k}")).result(_LATE_S)
        for _ in range(scenario.rounds):
            group.sum(torch.zeros(1))
            spans, faults = _round(group, operator, sums, line, scenario, begins)
            rounds.append(spans)
            wrong += faults
    sums.close()
    return rounds, wrong


def _round(
    group: Group, operator: AllToAll, sums: AllReduce, line: Messages, scenario: LabScenario, begins: Path
) -> tuple[_Spans, list[str]]:
    """Spans of the coflows of one round at this rank, and those whose contents were wrong."""
    import torch

    size, rank, unit = group.size, group.rank, scenario.unit
    gradients = [torch.full((unit // 8 // 2,), float(rank + k)) for k in range(2)]
    tokens = [_tokens(scenario, r) for r in range(size)]
    send = [len(part) for part in tokens[rank]]
    came = torch.zeros(sum(len(tokens[r][rank]) for r in range(size)), dtype=torch.uint8)
    activation = torch.full((unit,), rank % (size // 2), dtype=torch.uint8)
    ends: dict[str, float] = {}
    begun = {}
    zero = _begin(rank, begins)
    waits: list[Callable[[], Any]] = []
    for kind in sorted(KINDS, key=scenario.start_s):
        time.sleep(max(0.0, zero + scenario.start_s(kind) - time.monotonic()))
        begun[kind] = time.monotonic() - zero
        factors = scenario.factors(kind)

        def ended(*_: Any, kind: str = kind) -> None:
            ends[kind] = time.monotonic() - zero

        if kind == "EP":
            rows = [len(tokens[r][rank]) for r in range(size)]
            batch = torch.cat(tokens[rank])
            handle = operator.all_to_all_single(came, batch, rows, send, async_op=True, factors=factors)
            handle.when_done(ended)
            waits.append(handle.wait)
        elif kind == "PP":
            lower = rank < size // 2
            peer = rank + size // 2 if lower else rank - size // 2
            received = torch.zeros_like(activation)
            message = line.isend(activation, peer, 0, factors) if lower else line.irecv(received, peer)
            message.when_done(ended)
            waits.append(message.wait)
        else:
            future = sums.start(gradients[int(kind[-1])], factors)
            future.add_done_callback(ended)
            waits.append(partial(future.result, _LATE_S))
    results = [wait() for wait in waits]
    wrong = _check(rank, size, dict(zip(sorted(KINDS, key=scenario.start_s), results, strict=True)), tokens)
    if rank >= size // 2 and not torch.equal(received, activation):
        wrong.append(f"PP at rank {rank}")
    return {kind: (begun[kind], ends[kind]) for kind in KINDS}, wrong


def _begin(rank: int, begins: Path) -> float:
    """Present time in seconds; rank 0 also signals that the coflows begin."""
    if rank == 0:
        begins.touch()
    return time.monotonic()


def _tokens(scenario: LabScenario, rank: int) -> list[torch.Tensor]:
    """Bytes that a rank sends to each expert: popular ones get more, the busiest port a quarter of a unit."""
    import torch

    sizes = token_bytes(scenario)[rank]
    return [torch.full((count,), 16 * rank + peer, dtype=torch.uint8) for peer, count in enumerate(sizes)]


def token_bytes(scenario: LabScenario) -> list[list[int]]:
    """Bytes of tokens from each rank to each rank."""
    import torch

    draw = torch.Generator().manual_seed(scenario.seed)
    weights = torch.rand(scenario.ranks, scenario.ranks, generator=draw) + 0.2
    weights.fill_diagonal_(0)
    busiest = max(float(weights.sum(0).max()), float(weights.sum(1).max()))
    sizes: list[list[int]] = (weights / busiest * scenario.unit / 4).long().tolist()
    return sizes


def _check(rank: int, size: int, results: dict[str, Any], tokens: list[list[torch.Tensor]]) -> list[str]:
    import torch

    expected = {f"DP-{k}": sum(range(size)) + size * k for k in range(2)}
    wrong = [f"{kind} at rank {rank}" for kind, value in expected.items() if not (results[kind] == value).all()]
    if not torch.equal(results["EP"], torch.cat([tokens[r][rank] for r in range(size)])):
        wrong.append(f"EP at rank {rank}")
    return wrong
