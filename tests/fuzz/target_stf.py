# SPDX-License-Identifier: Apache-2.0
"""STF files: commands of real ones with words changed, and commands with any words."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from fuzzing import mutate
from offramp_p4.frontend import load
from offramp_p4.stf import run_stf

NAME = "STF"
_ROOT = Path(__file__).parents[2]
_PROGRAMS: list[tuple[Any, str]] = []
_WORDS = (
    "packet", "expect", "no_packet", "wait", "remove", "add", "setdefault", "check_counter", "mirroring_add",
    "mirroring_add_mc", "mirroring_get", "mc_mgrp_create", "mc_node_create", "mc_node_associate", "register_read",
    "register_write", "register_reset", "meter_set_rates", "counter", "all", "=", "==", "0", "1", "-1", "65536",
    "0x", "0xff**", "0b1*", "*", "$", "\"", "h.a:1", "a/32", "a/99999999999", "(", ")", ",", "a(b:1)",
    "9" * 5000, "#", "ff", "f", "zz",
)  # fmt: skip


def prepare() -> None:
    """Load the programs and their tests."""
    paths = [_ROOT / path for path in ("p4/examples/reflector", "p4/hermod/v1model")]
    _PROGRAMS.extend((load(path.with_suffix(".p4")), path.with_suffix(".stf").read_text("utf-8")) for path in paths)


def run(rng: random.Random) -> None:
    """One test: refused with its line, or run."""
    program, text = rng.choice(_PROGRAMS)
    mutated = mutate.mostly(
        rng,
        lambda: mutate.text(rng, text),
        lambda: "\n".join(" ".join(rng.choices(_WORDS, k=rng.randint(1, 6))) for _ in range(4)),
        lambda: mutate.raw(rng, text.encode()).decode("utf-8", "replace"),
    )
    run_stf(program, mutated, "fuzzed.stf", seed=0)
