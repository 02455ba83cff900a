# SPDX-License-Identifier: Apache-2.0
"""Sends and receives between two ranks, as ``torch.distributed``'s, with priorities: for pipeline stages."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.endhost.handle import Handle
from offramp.hermod.endhost.memory import as_bytes, as_memory, check_in_memory, landing
from offramp.hermod.endhost.numbers import tagged
from offramp.hermod.endhost.transfers import Route
from offramp.hermod.factors import Factors
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    import torch
import torch.distributed as dist


class Messages:
    """Point-to-point operations over an endpoint; one such object for each endpoint.

    The n-th send to a rank with a tag meets the n-th receive from it with the tag.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._sent: Counter[tuple[int, int]] = Counter()

    def isend(self, tensor: torch.Tensor, dst: int, tag: int = 0, factors: Factors | None = None) -> Handle[None]:
        """Start to send; the tensor is not to be changed before the handle's wait returns.

        Raises:
            OfframpError: no such rank or tag, not in main memory, or the endpoint has failed.
        """
        check_in_memory(tensor, f"send to rank {dst}: tensor")
        first = tagged(tag)
        with self._lock:
            self._sent[dst, tag] += 1
            number = first + self._sent[dst, tag]
        view = as_memory(as_bytes(tensor.contiguous()))
        future = self._endpoint.exchange(number, {dst: view}, {}, factors)
        self._endpoint.offer(dst, number)
        return self._handle(future, f"send to rank {dst}", None)

    def irecv(self, tensor: torch.Tensor, src: int, tag: int = 0) -> Handle[None]:
        """Start to receive as many bytes as the tensor has.

        Raises:
            OfframpError: as :meth:`isend`; a sender of another size ends the endpoint.
        """
        check_in_memory(tensor, f"receive from rank {src}: tensor")
        number = self._endpoint.offers.take(src, tagged(tag))
        arriving = landing(tensor)
        future = self._endpoint.exchange(number, {}, {src: as_memory(as_bytes(arriving))})
        return self._handle(future, f"receive from rank {src}", (tensor.detach(), arriving))

    def irecv_any(self, tensor: torch.Tensor, tag: int = 0) -> Future[int]:
        """Start to receive from the rank that sends first; its rank, when the tensor has arrived.

        Raises:
            OfframpError: as :meth:`irecv` (here or from the future).
        """
        check_in_memory(tensor, "receive from any rank: tensor")
        arriving = landing(tensor)
        source: Future[int] = Future()

        def begin(offer: Future[Route]) -> None:
            try:
                peer, number = offer.result()
                moving = self._endpoint.exchange(number, {}, {peer: as_memory(as_bytes(arriving))})
            except OfframpError as error:
                source.set_exception(error)
            else:
                moving.add_done_callback(lambda done: end(done, peer))

        def end(done: Future[None], peer: int) -> None:
            error = done.exception()
            if error is not None:
                source.set_exception(error)
                return
            if arriving.data_ptr() != tensor.data_ptr():
                tensor.detach().copy_(arriving)
            source.set_result(peer)

        self._endpoint.offers.take_any(tagged(tag)).add_done_callback(begin)
        return source

    def batch_isend_irecv(self, batch: Sequence[dist.P2POp], factors: Factors | None = None) -> list[Handle[None]]:
        """Like ``torch.distributed.batch_isend_irecv``, for operations of the group that the endpoint is of.

        Raises:
            OfframpError: as :meth:`isend`, or something else than a send or receive.
        """
        handles = []
        for each in batch:
            peer = getattr(each, "group_peer", each.peer)  # before PyTorch 2.6 there is the global rank only
            if each.op is dist.isend:
                handles.append(self.isend(each.tensor, peer, each.tag, factors))
            elif each.op is dist.irecv:
                handles.append(self.irecv(each.tensor, peer, each.tag))
            else:
                raise OfframpError(f"batch: {each.op}: expected isend or irecv")
        return handles

    def _handle(self, future: Future[None], what: str, into: tuple[torch.Tensor, torch.Tensor] | None) -> Handle[None]:
        def finish(_: None) -> None:
            if into is not None and into[0].data_ptr() != into[1].data_ptr():
                into[0].copy_(into[1])

        def late(seconds: float) -> OfframpError:
            return self._endpoint.fail(f"{what} is not over after {seconds:g} s{self._endpoint.waiting}")

        return Handle(future, self._endpoint.tuning.timeout_s, late, finish)
