# SPDX-License-Identifier: Apache-2.0
"""Hermod's coflows: all-to-alls in matchings, sums and pipelines' messages over connections with a DSCP each."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from offramp.hermod.endhost import Endpoint, Priorities, Tuning
from offramp.hermod.endhost.all_reduce import AllReduce
from offramp.hermod.endhost.handle import Handle
from offramp.hermod.endhost.messages import Messages
from offramp.hermod.endhost.rdma.port import RdmaPort
from offramp.hermod.operator import AllToAll
from offramp.torch.offload import OFFLOADS, CollectiveCall, CollectiveRequest, Offload, Result
from offramp.torch.place import OffloadGroup
from offramp.torch.settings import NetworkSettings
from offramp.torch.types import NUMBERS
from offramp.workers.messages import introduce

if TYPE_CHECKING:
    import torch


@OFFLOADS.register("hermod")
class Hermod(Offload):
    """Collectives with priorities: microbatch, type and layer as determined by :mod:`offramp.torch.priorities`."""

    kinds = ("all_reduce", "all_to_all", "send", "recv")

    def __init__(self, settings: NetworkSettings) -> None:
        super().__init__(settings)
        self.endpoint: Endpoint | None = None

    def takes(self, request: CollectiveRequest) -> bool:
        """Whether it is an all-to-all of one tensor, a sum of numbers, or a message."""
        if request.kind in ("all_to_all", "send", "recv"):
            return request.form in ("single", "any")
        return super().takes(request) and request.dtype in NUMBERS

    def open(self, place: OffloadGroup) -> None:
        """Connect with every rank; the token is that of ``OFFRAMP_TOKEN_FILE``."""
        micro_batches, layers = self.settings.micro_batches, self.settings.layers
        priorities = Priorities.of_job(micro_batches, layers) if micro_batches else None
        tuning = Tuning(timeout_s=max(1.0, place.timeout.total_seconds()))
        where = self.settings.interface
        self.endpoint = Endpoint(
            place.rank,
            place.size,
            lambda row: introduce(row, place.control),
            priorities,
            where=where,
            tuning=tuning,
            rdma=RdmaPort if self.settings.rdma else None,
        )
        self._sums = AllReduce(self.endpoint, "all-reduce")
        self._operator = AllToAll(endpoint=self.endpoint, timeout_s=tuning.timeout_s)
        self._messages = Messages(self.endpoint)

    def close(self) -> None:
        """End all connections."""
        if self.endpoint is not None:
            self._operator.close()
            self._sums.close()
            self.endpoint.close()

    def all_reduce(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        """A reduce-scatter and an all-gather, added in rank order."""
        return self._sums.start(values, call.factors)

    def all_to_all(self, output: torch.Tensor, values: torch.Tensor, call: CollectiveCall) -> Result:
        """Send in the sub-phases of a matching."""
        into, out = list(call.output_splits) or None, list(call.input_splits) or None
        handle = self._operator.all_to_all_single(output, values, into, out, async_op=True, factors=call.factors)
        return _over(handle, output)

    def send(self, values: torch.Tensor, call: CollectiveCall) -> Result:
        """Send a coflow of one transfer."""
        return _over(self._messages.isend(values, call.peer, _tag(call), call.factors), values)

    def recv(self, output: torch.Tensor, call: CollectiveCall) -> Result:
        """Receive a coflow of one transfer, from any rank that of the first to send."""
        if call.request.form == "any":
            return self._recv_any(output, call)
        return _over(self._messages.irecv(output, call.peer, _tag(call)), output)

    def _recv_any(self, output: torch.Tensor, call: CollectiveCall) -> Future[torch.Tensor]:
        over: Future[torch.Tensor] = Future()

        def end(source: Future[int]) -> None:
            error = source.exception()
            if error is not None:
                over.set_exception(error)
                return
            call.received_from(source.result())
            over.set_result(output)

        self._messages.irecv_any(output, _tag(call)).add_done_callback(end)
        return over


def _tag(call: CollectiveCall) -> int:
    return call.input_splits[0] if call.input_splits else 0


def _over(handle: Handle[Any], result: torch.Tensor) -> Future[torch.Tensor]:
    over: Future[torch.Tensor] = Future()

    def end() -> None:
        try:
            handle.wait(0)
        except Exception as error:
            over.set_exception(error)
        else:
            over.set_result(result)

    handle.when_done(end)
    return over
