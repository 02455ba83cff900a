# SPDX-License-Identifier: Apache-2.0
"""Exchanges of halo rows: as they are, in a codec's bytes, or an epoch late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import scipy.sparse as sp
import torch

from offramp.codecs.base import CODECS, FeatureCodec
from offramp.graph.halo_plan import HaloMessage, HaloPlan
from offramp.workers.accelerator import to_host
from offramp.workers.mailbox import Key
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from offramp.gnn.halo import ExchangeKey, RankHalo

PLAIN: Final = "fp32"
SCHEDULES: Final = ("sequential", "stale")


class HaloExchange(Protocol):
    """Carries rows and their gradients; all ranks call it in the same order.

    Attributes:
        exact: whether rows arrive as they are, those of this step: then rows that never change travel once.
    """

    exact: bool

    def fetch(self, x: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """The ``(h, …)`` rows of others, of ``(n, …)`` own rows on each rank."""

    def give_back(self, gradient: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """``(n, …)`` sums of the ``(h, …)`` gradients that ranks have of others' rows."""


class PlainExchange:
    """Rows as they are, of any type."""

    exact = True

    def fetch(self, x: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:  # noqa: ARG002
        """Like :meth:`HaloExchange.fetch`."""
        return halo.start(x)()

    def give_back(self, gradient: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:  # noqa: ARG002
        """Like :meth:`HaloExchange.give_back`."""
        return halo.start_back(gradient)()


class StaleExchange:
    """Rows and gradients of the step before, while those of this step travel (PipeGCN).

    The first step waits for its own. Evaluation has keys of its own and is never late.
    """

    exact = False

    def __init__(self) -> None:
        self._late: dict[tuple[int, bool], Callable[[], torch.Tensor]] = {}

    def fetch(self, x: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """Like :meth:`HaloExchange.fetch`."""
        return self._turn(key, halo.start(x), backward=False)

    def give_back(self, gradient: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """Like :meth:`HaloExchange.give_back`."""
        return self._turn(key, halo.start_back(gradient), backward=True)

    def _turn(self, key: ExchangeKey, wait: Callable[[], torch.Tensor], *, backward: bool) -> torch.Tensor:
        if key.step < 0:
            return wait()
        before = self._late.get((key.number, backward), wait)
        rows = before()
        # Whoever waits twice gets the same rows: the first step's serve the second as well.
        self._late[key.number, backward] = (lambda: rows) if before is wait else wait
        return rows


@dataclass(frozen=True)
class CodecChoice:
    """The choice of a codec and its settings (:class:`offramp.codecs.base.CodecSettings`)."""

    codec: str
    dtype: str = "float32"
    seed: int = 0
    ranking: str = "ecdf"
    pool: str = "pairs"


class CodedExchange:
    """Rows in the bytes of a codec of :data:`offramp.codecs.base.CODECS`, such as Sylvie's.

    What has one value for each vertex, or is not a float, travels as it is: degrees must stay exact. Codecs know
    float32: other types are rounded to it.

    Args:
        codec: its name.
        bits: base width where the codec leaves it to a controller; 32 leaves float32.
        seed: seed of the rounding.
    """

    exact = False

    def __init__(self, codec: str, bits: int | None, seed: int) -> None:
        self._settings = CodecChoice(codec, seed=seed)
        self._bits = bits
        self._plain = PlainExchange()
        self._codecs: dict[RankHalo, tuple[FeatureCodec, HaloPlan]] = {}
        CODECS.get(codec)

    def fetch(self, x: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """Like :meth:`HaloExchange.fetch`."""
        if x.dim() < 2 or not x.is_floating_point():
            return self._plain.fetch(x, halo, key)
        own = x.flatten(1).float()
        out = torch.cat([own, own.new_zeros((halo.rows, own.shape[1]))])
        self._exchange(halo, Key(max(key.step, 0), key.number, backward=False, bin=0), own, out)
        return out[halo.owned :].view(halo.rows, *x.shape[1:]).to(x)

    def give_back(self, gradient: torch.Tensor, halo: RankHalo, key: ExchangeKey) -> torch.Tensor:
        """Like :meth:`HaloExchange.give_back`."""
        if gradient.dim() < 2:
            return self._plain.give_back(gradient, halo, key)
        came = gradient.flatten(1).float()
        rows = torch.cat([came.new_zeros((halo.owned, came.shape[1])), came])
        out = came.new_zeros((halo.owned, came.shape[1]))
        self._exchange(halo, Key(max(key.step, 0), key.number, backward=True, bin=0), rows, out)
        return out.view(halo.owned, *gradient.shape[1:]).to(gradient)

    def _exchange(self, halo: RankHalo, key: Key, rows: torch.Tensor, out: torch.Tensor) -> None:
        comm = halo.comm
        codec, plan = self._codec(halo)
        sends, receives = (plan.receives, plan.sends) if key.backward else (plan.sends, plan.receives)
        payloads: dict[int, torch.Tensor] = {m.peer: to_host(codec.encode(rows, m, key)) for m in sends}
        lengths = [len(payloads[peer]) if peer in payloads else 0 for peer in range(comm.size)]
        ones = [1] * comm.size
        coming = comm.all_to_all(torch.tensor(lengths), ones, ones).tolist()
        body = torch.cat([torch.empty(0, dtype=torch.uint8), *(payloads[peer] for peer in sorted(payloads))])
        parts = torch.split(comm.all_to_all(body, lengths, coming), coming)
        for message in receives:
            codec.decode(parts[message.peer].contiguous(), message, key, out, add=key.backward)

    def _codec(self, halo: RankHalo) -> tuple[FeatureCodec, HaloPlan]:
        if halo not in self._codecs:
            plan = _plan(halo)
            codec = CODECS.get(self._settings.codec).of(self._settings, plan, halo.comm.rank)
            if self._bits is not None:
                codec.set_bits(self._bits)
            self._codecs[halo] = codec, plan
        return self._codecs[halo]


def _plan(halo: RankHalo) -> HaloPlan:
    """A halo as codecs know it: own rows first, then those of others."""
    leaving, coming = halo.send_rows.cpu().numpy(), halo.ids.cpu().numpy()
    sends, receives = [], []
    at = start = 0
    for peer, (out, into) in enumerate(zip(halo.send_counts, halo.receive_counts, strict=True)):
        rows, ids = leaving[at : at + out], coming[start : start + into]
        if out:
            sends.append(HaloMessage(peer, 0, rows, rows, np.ones(out)))
        if into:
            receives.append(HaloMessage(peer, 0, halo.owned + np.arange(start, start + into), ids, np.ones(into)))
        at, start = at + out, start + into
    size = halo.owned + halo.rows
    degree = np.ones(size, np.int64) if halo.degree is None else halo.degree.cpu().numpy()
    return HaloPlan(np.arange(size), degree, sp.csr_matrix((halo.owned, size)), [], sends, receives)


def make_exchange(codec: str, schedule: str, bits: int | None, seed: int) -> HaloExchange:
    """The exchange of a choice by names.

    Raises:
        OfframpError: unknown names, or ones that do not go together.
    """
    if schedule not in SCHEDULES:
        hint = "schedules that order bins need layers of offramp train"
        raise SettingsError("schedule", f"expected {' or '.join(SCHEDULES)}; {hint}", schedule)
    if schedule == "stale":
        if codec != PLAIN:
            raise SettingsError("codec", f"expected {PLAIN} with schedule stale", codec)
        return StaleExchange()
    return PlainExchange() if codec == PLAIN else CodedExchange(codec, bits, seed)
