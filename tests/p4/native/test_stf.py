# SPDX-License-Identifier: Apache-2.0
"""The STF programs on both engines: their own packets, then thousands of damaged ones.

The engine is the oracle; it has its own, bmv2. Blind to what both engines get wrong.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from offramp.p4src import p4_root
from offramp_p4.frontend import load
from offramp_p4.optimising import OptimiseWhen
from offramp_p4.stf.control import StfControl
from offramp_p4.stf.parse import parse
from twins import Twins

FOLDERS = [Path(__file__).parents[1] / "stf", p4_root() / "examples"]
TESTS = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.stf"))}

pytestmark = pytest.mark.p4


OPTIMISED = set(list(TESTS)[::5])
"""Programs that are optimised in the tiers, which for all of them takes longer than everything else here."""


@cache
def run(name: str, optimise: OptimiseWhen) -> tuple[Twins, list[tuple[int, bytes]]]:
    """Both engines after the test, and the packets that it sent."""
    twins = Twins(load(TESTS[name].with_suffix(".p4")), optimise=optimise)
    controls = [StfControl(switch) for switch in twins.engines]
    sent = []
    for command in parse(TESTS[name].read_text(), f"{name}.stf"):
        if command.name == "packet":
            sent.append((command.numbers[0], bytes.fromhex(command.data)))
            twins.send(sent[-1:])
        elif command.name != "expect":
            assert len({control.execute(command) for control in controls}) == 1
    return twins, sent


@pytest.mark.full
@pytest.mark.parametrize("name", TESTS)
def test_packets_of_the_test(name: str) -> None:
    twins, sent = run(name, when(name))
    assert sent
    twins.check()


def damaged(rng: random.Random, frame: bytes) -> bytes:
    damaged_frame = bytearray(frame)
    for _ in range(rng.choice([0, 1, 1, 2, 8])):
        if damaged_frame:
            damaged_frame[rng.randrange(len(damaged_frame))] = rng.choice([0, 1, 0xFF, rng.randrange(256)])
    if rng.random() < 0.3:
        del damaged_frame[rng.randrange(len(damaged_frame) + 1) :]
    if rng.random() < 0.1:
        damaged_frame += rng.randbytes(rng.randrange(40))
    return bytes(damaged_frame)


@pytest.mark.parametrize("name", TESTS)
def test_damaged_packets(name: str) -> None:
    send_damaged(name, when(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TESTS if name not in OPTIMISED])
def test_damaged_packets_by_optimised_code(name: str) -> None:
    send_damaged(name, OptimiseWhen.AT_ONCE)


def when(name: str) -> OptimiseWhen:
    return OptimiseWhen.AT_ONCE if name in OPTIMISED else OptimiseWhen.WHEN_BUSY


def send_damaged(name: str, optimise: OptimiseWhen) -> None:
    twins, sent = run(name, optimise)
    rng, ports = random.Random(name), 128 if "_tna" in name else 512
    for now_us in range(0, 400_000, 40_000):
        twins.at(now_us)
        twins.send(
            [
                (rng.choice([port, rng.randrange(ports)]), damaged(rng, rng.choice(sent)[1]))
                for port, _ in (rng.choice(sent) for _ in range(30))
            ]
        )
