# SPDX-License-Identifier: Apache-2.0
"""SwitchGNN frames of all kinds, from the job's ports and from others, during a small job on both engines.

A case is a job with its seed. What both engines send must be the same; what an attacker sends from ports that are not
the sender's must change nothing (see ``switchgnn_attack``); garbage from anywhere must raise nothing.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from offramp.p4src import p4_source
from offramp_base.wire.batch import PacketBatch
from offramp_p4.frontend import load
from offramp_sim.switchgnn import direct
from switchgnn_attack import Attacker, attacked_job, turns
from twins import Twins

NAME = "switchgnn-frames"

_SIZES = {"AGGREGATORS": "64", "FANOUT_ENTRIES": "4096", "SLOT_ENTRIES": "1024", "OWNER_ENTRIES": "1024"}
_FOREIGN = (0, 15, 77, 500, 511)


@cache
def _twins(name: str) -> Twins:
    return Twins(load(p4_source(f"switchgnn/{name}.p4"), defines=_SIZES), max_passes=10_000)


def run(rng: random.Random) -> None:
    """One job under attack, then what no job has: random bytes, and its own frames with a byte changed."""
    twins, seed = _twins(rng.choice(["v1model", "replicated_v1model"])), rng.getrandbits(32)
    job, acks = attacked_job(seed), bool(rng.getrandbits(1))
    twins.each(lambda switch: switch.reset())
    twins.each(lambda switch: direct.load(switch, job.plans, job.ports, acks=acks))
    attacker = Attacker(twins.process, np.random.default_rng([seed, 1]), job.ports, _FOREIGN, 60)
    turns(seed, job, attacker, job.ports, acks=acks)
    known = [frame for _, frame in attacker.seen] or [bytes(178)]
    twins.process(PacketBatch.of((rng.choice([*job.ports, *_FOREIGN]), _changed(rng, known)) for _ in range(60)))


def _changed(rng: random.Random, known: list[bytes]) -> bytes:
    if rng.random() < 0.2:
        return rng.randbytes(rng.randrange(200))
    frame = bytearray(rng.choice(known))
    for _ in range(rng.randrange(1, 4)):
        frame[rng.randrange(len(frame))] = rng.randrange(256)
    return bytes(frame[: rng.choice([len(frame), rng.randrange(len(frame))])])
