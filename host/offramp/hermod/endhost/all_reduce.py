# SPDX-License-Identifier: Apache-2.0
"""Sums over ranks as coflows: a reduce-scatter, then an all-gather, both without incast."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

import torch

from offramp.hermod.endhost.endpoint import Endpoint
from offramp.hermod.endhost.memory import as_bytes, as_memory, check_in_memory
from offramp.hermod.endhost.numbers import channel
from offramp.hermod.endhost.transfers import Span
from offramp.hermod.factors import Factors
from offramp_base.errors import OfframpError

_NARROW: Final = (torch.float16, torch.bfloat16)


class AllReduce:
    """Sums of tensors over an endpoint's ranks, which all start the same ones in the same order.

    Every rank adds its share in rank order, half precision in float32: the same bits on all ranks, every time.
    """

    def __init__(self, endpoint: Endpoint, name: str = "all-reduce") -> None:
        self._endpoint, self._channel = endpoint, channel(name)
        self._started = 0
        self._lock = threading.Lock()
        self._adding = ThreadPoolExecutor(1, name)

    def close(self) -> None:
        """End the thread that adds."""
        self._adding.shutdown()

    def start(self, values: torch.Tensor, factors: Factors | None = None) -> Future[torch.Tensor]:
        """The sum, in the shape of ``values``.

        Raises:
            OfframpError: not in main memory, not numbers, or the endpoint has failed (here or from the future).
        """
        check_in_memory(values, "all-reduce: tensor")
        if values.dtype is torch.bool:
            raise OfframpError("all-reduce of torch.bool: expected numbers")
        with self._lock:
            number = self._channel | 2 * self._started
            self._started += 1
        size, rank = self._endpoint.size, self._endpoint.rank
        flat = values.detach().reshape(-1)
        width = -(-flat.numel() // size)
        total = torch.nn.functional.pad(flat, (0, width * size - flat.numel())).reshape(size, width)
        result: Future[torch.Tensor] = Future()
        parts = torch.empty_like(total)
        parts[rank] = total[rank]

        def fail(error: BaseException) -> None:
            result.set_exception(error if isinstance(error, OfframpError) else OfframpError(f"all-reduce: {error}"))

        def add(done: Future[None]) -> None:
            try:
                done.result()
                mine = _in_rank_order(parts)
                share = as_memory(as_bytes(mine))
                whole = torch.empty_like(total)
                whole[rank] = mine
                gathered = self._move(number + 1, dict.fromkeys(self._peers, share), whole, factors)
                gathered.add_done_callback(lambda end: deliver(end, whole))
            except Exception as error:
                fail(error)

        def deliver(done: Future[None], whole: torch.Tensor) -> None:
            error = done.exception()
            if error is not None:
                fail(error)
            else:
                result.set_result(whole.reshape(-1)[: flat.numel()].reshape(values.shape))

        scattered = self._move(number, {p: as_memory(as_bytes(total[p])) for p in self._peers}, parts, factors)
        scattered.add_done_callback(lambda done: self._adding.submit(add, done))
        return result

    @property
    def _peers(self) -> list[int]:
        """The nearest higher rank first, so that no rank hears two at a time."""
        size, rank = self._endpoint.size, self._endpoint.rank
        return [(rank + k) % size for k in range(1, size)]

    def _move(
        self, number: int, outgoing: dict[int, memoryview], into: torch.Tensor, factors: Factors | None
    ) -> Future[None]:
        incoming = {p: as_memory(as_bytes(into[p])) for p in self._peers}
        order: list[Span] = [(p, 0, len(view)) for p, view in outgoing.items() if len(view)]
        return self._endpoint.exchange(number, outgoing, incoming, factors, order)


def _in_rank_order(parts: torch.Tensor) -> torch.Tensor:
    total = parts[0].to(torch.float32) if parts.dtype in _NARROW else parts[0].clone()
    for part in parts[1:]:
        total += part
    return total.to(parts.dtype)
