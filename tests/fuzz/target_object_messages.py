# SPDX-License-Identifier: Apache-2.0
"""Object messages between ranks: what is accepted can be packed again and is the same."""

from __future__ import annotations

import random

from fuzzing import mutate
from offramp.train.job import WorkerJob
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings
from offramp.workers.traffic import Traffic
from offramp_base.wire.objects import pack, unpack

NAME = "object messages between ranks"
_WHOLE: list[tuple[bytes, object]] = []


def prepare() -> None:
    """A worker's job, which has most of what travels, and a small message."""
    from offramp.graph.load import load

    settings = TrainSettings("karate", workers=2, propagator="p2p", schedule="g3", codec="q4")
    _WHOLE.append((bytes(pack(plan_run(load("karate"), settings).jobs([])[1], WorkerJob)), WorkerJob))
    _WHOLE.append((bytes(pack(Traffic(1, 2, 3), Traffic)), Traffic))


def run(rng: random.Random) -> None:
    """One message with a few bytes otherwise, or bytes of any kind."""
    whole, kind = rng.choice(_WHOLE)
    raw = mutate.raw(rng, whole) if rng.random() < 0.9 else rng.randbytes(rng.randrange(4096))
    value = unpack(bytearray(raw), kind, "rank 1")
    again = pack(value, kind)
    assert pack(unpack(again, kind, "rank 1"), kind) == again
