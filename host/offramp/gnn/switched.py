# SPDX-License-Identifier: Apache-2.0
"""Halo rows through a P4 switch: each row goes up once, its gradients are added up on their way back (SwitchGNN).

Any model will do, as rows arrive bit by bit: the switch copies where SwitchGNN's own layers let it add. On the way
back it adds fixed-point numbers under a scale that the ranks agree on for each exchange.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import torch

from offramp.gnn.exchanges import PlainExchange
from offramp.gnn.route import ExchangeRoute
from offramp.gnn.settings import SWITCH_MEMORY
from offramp.switchgnn.chunks import MAX_CHUNKS, aggregator_bytes, lanes_for
from offramp.switchgnn.exchange import Exchange
from offramp.switchgnn.exchange_plan import ExchangePlan
from offramp.switchgnn.fabric import SwitchEndpoint, SwitchFabric, parse_ports
from offramp.switchgnn.multicast import multicast_plan
from offramp.switchgnn.pairwise import pairwise_plan
from offramp.switchgnn.plan import Plan, require_ids
from offramp.switchgnn.recovery import Recovery
from offramp.switchgnn.target import TARGETS
from offramp.switchgnn.worker_link import open_worker
from offramp.workers.messages import MOST_ROW
from offramp_base.errors import OfframpError
from offramp_base.unreachable import UnreachableError, expect_switch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from offramp.gnn.comm import Alone, Comm
    from offramp.gnn.halo import ExchangeKey, RankHalo
    from offramp.switchgnn.worker_link import AnyWorker
    from offramp_base.transport.faulty import FaultRates


class HaloSwitch:
    """A switch that carries a model's halo rows; one for each model, a context manager that ends its links.

    What the model exchanges is learned from its first forward pass and the backward pass behind it, whose rows go
    from rank to rank. Then the first rank loads the switch with the plans for it. Rows of other types than float32,
    of one dimension, and of another graph than that of the first pass go from rank to rank always; so do rows of the
    graph's own tensors, once.

    Args:
        address: address of the switch's P4Runtime server; only the first rank connects to it.
        ports: every rank's link, in rank order: ``LINK,LINK`` or ``PORT@LINK,…``.
        memory: bytes of the switch's aggregators.
        timeout_s: seconds without anything new after which an exchange fails.
        retry_s: time without anything new after which a rank asks for what it lacks; it doubles while nothing comes.
        target: the switch's program: ``v1model``, ``v1model-replicated`` or ``tna``.
        faults: given to each rank's link on purpose.

    Attributes:
        worker: this rank's end, once the switch is loaded.
        fabric: the first rank's connection to the switch.
    """

    exact = True

    def __init__(
        self,
        address: str,
        ports: str | Sequence[tuple[int, str]],
        *,
        memory: int = SWITCH_MEMORY,
        timeout_s: float = 10.0,
        retry_s: float = 1.0,
        target: str = "v1model",
        faults: FaultRates | None = None,
    ) -> None:
        self.worker: AnyWorker | None = None
        self.fabric: SwitchFabric | None = None
        self._address, self._ports, self._memory, self._timeout_s = address, ports, memory, timeout_s
        self._target, self._faults = target, faults
        self._recovery = Recovery.within(timeout_s, retry_s)
        self._stack = ExitStack()
        self._plain = PlainExchange()
        self._widths: dict[RankHalo, set[int]] = {}  # of the first pass, in its order
        self._routes: dict[RankHalo, ExchangeRoute] = {}
        self._loaded = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End this rank's link."""
        self._stack.close()

    def expect(self, comm: Comm | Alone) -> None:
        """Check, before the first step, that the switch answers the first rank; every rank calls this.

        Raises:
            OfframpError: there is not one link for each rank.
            UnreachableError: the switch does not answer; the same on all ranks.
        """
        if isinstance(self._ports, str):
            parse_ports(self._ports, comm.size)
        problem = ""
        if comm.rank == 0 and comm.size > 1:
            try:
                expect_switch(self._address)
            except OfframpError as error:
                problem = str(error)
        if seen := comm.introduce(problem.encode()[:MOST_ROW])[0]:
            raise UnreachableError(seen.decode(errors="replace"))

    def fetch(self, x: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """Like :meth:`~offramp.gnn.exchanges.HaloExchange.fetch`."""
        if key.number == 0 and self._widths and not self._loaded:
            self._load(halo.comm)
        if not (_fits(x) and self._known(halo, x)):
            return self._plain.fetch(x, halo, key)
        return self._routes[halo].fetch(x.flatten(1)).view(halo.rows, *x.shape[1:])

    def give_back(self, gradient: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """Like :meth:`~offramp.gnn.exchanges.HaloExchange.give_back`.

        Raises:
            OfframpError: a gradient is not finite.
        """
        if not (_fits(gradient) and self._known(halo, gradient)):
            return self._plain.give_back(gradient, halo, key)
        sums = self._routes[halo].give_back(gradient.flatten(1), key)
        return sums.view(halo.owned, *gradient.shape[1:])

    def _known(self, halo: RankHalo, rows: torch.Tensor) -> bool:
        """Whether the switch has a plan for a halo; before it is loaded, what the halo carries is noted."""
        if not self._loaded and halo.comm.size > 1:
            self._widths.setdefault(halo, set()).add(math.prod(rows.shape[1:]))
        return halo in self._routes

    def _load(self, comm: Comm | Alone) -> None:
        """Plan, load the switch and wait for all ranks; every rank comes here at the same call.

        Raises:
            OfframpError: the switch cannot be loaded or reached, on all ranks in the same words where it is the first
                one that knows.
        """
        self._loaded = True
        plans, carried = self._plans()
        if not plans:
            return
        ports = parse_ports(self._ports, comm.size) if isinstance(self._ports, str) else list(self._ports)
        problem = ""
        if comm.rank == 0:
            try:
                endpoint = SwitchEndpoint(self._address, ports)
                self.fabric = self._stack.enter_context(SwitchFabric(endpoint, "switch", self._target))
                self.fabric.load(plans, self._memory // aggregator_bytes(plans[0].lanes))
            except OfframpError as error:
                problem = str(error)
        if refusal := comm.introduce(problem.encode()[:MOST_ROW])[0]:
            raise OfframpError(refusal.decode(errors="replace"))
        self.worker = open_worker(
            comm.rank,
            plans,
            ports[comm.rank][1],
            self._stack,
            self._timeout_s,
            recovery=self._recovery,
            faults=self._faults,
            seed=comm.rank,
        )
        self.worker.start()
        for route, width, number in carried:
            rows = len(route.own) + len(route.place)
            for exchanges, index in ((route.fetches, number), (route.returns, number + 1)):
                exchanges.append(Exchange(ExchangePlan.of_rows(rows, index, width), self.worker))

    def _plans(self) -> tuple[list[Plan], list[tuple[ExchangeRoute, int, int]]]:
        """Two plans for each halo and number of packets, there and back; their route, width and the first's index."""
        lanes = lanes_for((width for each in self._widths.values() for width in each), TARGETS[self._target].lanes)
        most = min(MAX_CHUNKS, self._memory // aggregator_bytes(lanes))
        plans: list[Plan] = []
        carried: list[tuple[ExchangeRoute, int, int]] = []
        blocks = ids = 0
        for halo, widths in self._widths.items():
            route = ExchangeRoute.agree(halo)
            if not route.copies.R:
                continue
            self._routes[halo] = route
            for chunks in sorted({min(-(-width // lanes), most) for width in widths}):
                carried.append((route, chunks * lanes, len(plans)))
                for plan_of in (multicast_plan, pairwise_plan):
                    plan = plan_of(route.copies, chunks, self._memory, first_block_id=blocks, lanes=lanes)
                    # The switch knows a vertex's port by its id alone.
                    each = [replace(block, vertices=block.vertices + ids) for block in plan.blocks]
                    plans.append(replace(plan, blocks=each))
                    blocks += len(each)
            ids += len(route.copies.owner) + route.copies.R
        require_ids(ids)
        return plans, carried


def _fits(x: torch.Tensor) -> bool:
    return x.dim() > 1 and x.dtype == torch.float32 and x.device.type == "cpu" and 0 not in x.shape[1:]
