# SPDX-License-Identifier: Apache-2.0
"""MSCCL programs in XML: what is read is checked on arrays and timed."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from pathlib import Path

from fuzzing import mutate, render
from offramp.themis import Collective, Demand, Dimension, Network, make_plan
from offramp.themis.kinds import DimensionTopology
from offramp.themis.msccl import program_of, read_program, to_xml
from offramp_base.errors import OfframpError
from offramp_sim.themis.msccl import faults, time_on

NAME = "MSCCL XML"
_NETWORK = Network("3x2", tuple(Dimension(DimensionTopology.SWITCH, size, 1e9, 10) for size in (3, 2)))
_TEXTS: list[str] = []
_NUMBER = re.compile(r'(?<=")-?[0-9]+(?=")')


def prepare() -> None:
    """A small program for each collective."""
    for collective in (Collective.ALL_REDUCE, Collective.REDUCE_SCATTER, Collective.ALL_GATHER):
        plan = make_plan(_NETWORK, [Demand(collective, 4096)], "themis+scf", 2)
        _TEXTS.append(to_xml(program_of(plan, in_place=collective is not Collective.ALL_GATHER)))


def run(rng: random.Random) -> None:
    """One file, with wrong bytes or with other numbers."""
    text = rng.choice(_TEXTS)
    if rng.random() < 0.3:
        text = mutate.text(rng, text)
    else:
        match = rng.choice(list(_NUMBER.finditer(text)))
        number = rng.choice((-2, -1, 0, 1, 2, 3, 5, 6, 12, 255, 1 << 20, 1 << 40))
        text = f"{text[: match.start()]}{number}{text[match.end() :]}"
    program = read_program(render.write(Path("case.xml"), text.encode("utf-8", "surrogatepass")))
    faults(program)
    with suppress(OfframpError):  # a deadlock
        time_on(program, _NETWORK, 4096)
