# SPDX-License-Identifier: Apache-2.0
"""Microbatch, type and layer of a collective, inferred if the program does not give them.

The type follows from the group's description (a mesh calls its dimensions' groups ``mesh_NAME``) or from the kind of
the collective. Layers follow from the order: backward passes go from the last layer to the first, as
DistributedDataParallel's buckets and FSDP2's gradients do, forward passes from the first to the last. Pipelines reveal
the microbatch by the methods that run a chunk (:mod:`offramp.torch.pipelines`).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import torch

from offramp.hermod.factors import CType, Factors

if TYPE_CHECKING:
    from offramp.torch.offload import CollectiveRequest
    from offramp.torch.settings import NetworkSettings

_WORDS: Final = {
    CType.EP: ("ep", "expert", "experts", "moe"),
    CType.PP: ("pp", "pipe", "pipeline", "stage"),
    CType.DP: ("dp", "ddp", "data", "fsdp", "hsdp", "replicate", "shard", "cp"),
}
_BY_KIND: Final = {"all_to_all": CType.EP, "send": CType.PP, "recv": CType.PP}
_said = threading.local()


@contextmanager
def priority(factors: Factors) -> Iterator[None]:
    """Give collectives that this thread starts within the block these factors, instead of inferred ones."""
    before = getattr(_said, "factors", None)
    _said.factors = factors
    try:
        yield
    finally:
        _said.factors = before


@contextmanager
def chunk(micro_batch: int, stage: int) -> Iterator[None]:
    """Attribute what this thread does within the block to one microbatch and stage of a pipeline."""
    before = getattr(_said, "chunk", None)
    _said.chunk = (micro_batch, stage)
    try:
        yield
    finally:
        _said.chunk = before


def type_of(request: CollectiveRequest) -> CType:
    """Type of a collective, from its group's description, else from its kind."""
    words = re.findall(r"[a-z]+", request.group.lower())
    for ctype, known in _WORDS.items():
        if any(word in known for word in words):
            return ctype
    return _BY_KIND.get(request.kind, CType.DP)


@dataclass
class _Pass:
    """A backward pass, or the time between two.

    Attributes:
        number: PyTorch's number of the backward pass, -1 outside of one.
        seen: collectives of each kind so far.
        last: number of each kind in the previous pass of the same sort.
    """

    number: int = -1
    seen: dict[str, int] = field(default_factory=dict)
    last: dict[bool, dict[str, int]] = field(default_factory=dict)
    backward: int = 0

    def at(self, kind: str) -> tuple[int, int, bool]:
        """Index of a new collective among those of its kind, their expected number, and whether it is backward."""
        number = torch._C._current_graph_task_id()
        if number != self.number:
            self.last[self.number >= 0] = self.seen
            self.number, self.seen = number, {}
            self.backward += number >= 0
        place = self.seen.get(kind, 0)
        self.seen[kind] = place + 1
        return place, max(self.last.get(number >= 0, {}).get(kind, 0), place + 1), number >= 0


class Positions:
    """Infers the factors of one group's collectives, in the order of calls."""

    def __init__(self, settings: NetworkSettings | None) -> None:
        self._micro_batches = settings.micro_batches if settings else None
        self._layers = settings.layers if settings else 1
        self._pass = _Pass()

    def of(self, request: CollectiveRequest) -> tuple[int, Factors | None]:
        """Index among the pass's collectives of this kind; and the factors, if the settings have microbatches."""
        place, many, backward = self._pass.at(request.kind)
        return place, self._factors(request, place, many, backward=backward)

    def _factors(self, request: CollectiveRequest, place: int, many: int, *, backward: bool) -> Factors | None:
        factors: Factors | None = getattr(_said, "factors", None)
        if factors is not None or self._micro_batches is None:
            return factors
        ctype = type_of(request)
        layer = place * self._layers // many
        layer = self._layers - 1 - layer if backward else layer
        inside: tuple[int, int] | None = getattr(_said, "chunk", None)
        if ctype is CType.DP:
            return Factors(self._micro_batches - 1, ctype, layer)  # it starts after the last one
        if inside is not None:
            layer = min(inside[1], self._layers - 1) if ctype is CType.PP else layer
            return Factors(inside[0] % self._micro_batches, ctype, layer)
        return Factors(self._pass.backward % self._micro_batches, ctype, layer)
