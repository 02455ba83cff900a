# SPDX-License-Identifier: Apache-2.0
"""Many runs, each a function of its seed, with progress and a file from which a later call goes on."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

EVERY_S = 10.0

Run = Callable[[int], str]
"""Outcome of a run, in a word or two; it raises AssertionError or OfframpError where it is wrong."""


def options(text: str, runs: int = 10_000) -> argparse.ArgumentParser:
    """The command line that campaigns share."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--out", type=Path, help="JSON lines, one for each run; runs that it has are not repeated")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin no run after so long")
    return parser


def campaign(run: Run, seeds: Sequence[int], out: Path | None = None, minutes: float = float("inf")) -> Counter[str]:
    """Run the seeds that ``out`` lacks; how many runs came to what, those that it has included.

    A run that is wrong is said, kept with its message, and does not end the campaign.
    """
    known: dict[int, str] = {}
    if out is not None and out.exists():
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        asked = set(seeds)
        known = {row["seed"]: row["outcome"] for row in rows if row["seed"] in asked}
    start = said = time.monotonic()
    before = len(known)
    for seed in seeds:
        if seed in known:
            continue
        if time.monotonic() - start > 60 * minutes:
            break
        began = time.monotonic()
        try:
            known[seed], message = run(seed), ""
        except Exception as error:
            known[seed], message = "wrong", f"{type(error).__name__}: {error}"
            sys.stderr.write(f"seed {seed}: {message}\n")
        if out is not None:
            row = {"seed": seed, "outcome": known[seed], "seconds": round(time.monotonic() - began, 3)}
            with out.open("a") as file:
                file.write(json.dumps(row | ({"message": message} if message else {})) + "\n")
        if time.monotonic() - said > EVERY_S:
            said = time.monotonic()
            left = (said - start) / (len(known) - before) * (len(seeds) - len(known))
            sys.stderr.write(
                f"{len(known)} of {len(seeds)} runs, {_counts(Counter(known.values()))}, {left:.0f} s left\n"
            )
    outcomes = Counter(known.values())
    took = time.monotonic() - start
    sys.stdout.write(
        f"{len(known)} of {len(seeds)} runs: {_counts(outcomes)}; {len(known) - before} now, in {took:.0f} s\n"
    )
    return outcomes


def _counts(outcomes: Counter[str]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())) or "none"
