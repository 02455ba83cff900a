# SPDX-License-Identifier: Apache-2.0
"""A run of the fuzzer: kinds of trials in turn, counts, findings with their reproducers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from random import Random
from typing import Any, Final

from offramp_p4_tools.fuzz.card import random_pna_program
from offramp_p4_tools.fuzz.compare import FuzzInput, FuzzVerdict, Make, compare
from offramp_p4_tools.fuzz.findings import Finding, TrialCounts
from offramp_p4_tools.fuzz.isolate import in_parallel, isolated
from offramp_p4_tools.fuzz.minimise import minimise
from offramp_p4_tools.fuzz.noise import noise
from offramp_p4_tools.fuzz.packets import random_packets
from offramp_p4_tools.fuzz.portable import random_psa_program
from offramp_p4_tools.fuzz.programs import RandomProgram, random_program
from offramp_p4_tools.fuzz.reference import against_bmv2
from offramp_p4_tools.fuzz.tofino import random_tofino_program

PACKETS: Final = 100
WRITERS: Final[dict[str, Callable[[int], RandomProgram] | None]] = {
    "v1model": None,
    "tna": random_tofino_program,
    "psa": random_psa_program,
    "pna": random_pna_program,
}
"""Writers of a seed's program, by architecture (None: the writer for v1model, which suits the tested engine)."""
TRIAL_S: Final = 60.0
"""Seconds that a comparison may take: far more than any needs."""


@dataclass(slots=True)
class Campaign:
    """Trials from consecutive seeds.

    Args:
        engine: makes the switch that is compared with the Python engine; None compares it with p4c and bmv2, on
            programs that these take.
        write: writes the program of a seed; None: programs for v1model.
        seed: seed of the first trial; trial ``n`` has seed ``seed + n`` and can be repeated by itself.
        shrink_s: time to spend on each finding's reproducer.
        jobs: trials at a time.
    """

    engine: Make | None
    seed: int = 0
    shrink_s: float = 30.0
    jobs: int = 1
    write: Callable[[int], RandomProgram] | None = None
    counts: TrialCounts = field(default_factory=TrialCounts)
    findings: list[Finding] = field(default_factory=list)

    def run(
        self,
        seconds: float = float("inf"),
        trials: float = float("inf"),
        report: Callable[[Finding], Any] | None = None,
        spent: Callable[[float], Any] | None = None,
    ) -> None:
        """Go on until the time or the number of trials is used up; ``spent`` gets the seconds so far."""
        start = time.monotonic()

        def works() -> Iterator[tuple[int, Callable[[], TrialCounts | None]]]:
            for seed in count(self.seed):
                if time.monotonic() >= start + seconds or seed - self.seed >= trials:
                    return
                yield seed, partial(self._quick, seed)

        for seed, ended in in_parallel(works(), 3 * TRIAL_S, self.jobs):
            before = len(self.findings)
            if ended.value is None:
                self.trial(seed)  # again, step by step, to see what is wrong
                if len(self.findings) == before:
                    reason = f"{ended.death or 'something was wrong'}, but not a second time"
                    self.findings.append(Finding("unsteady", seed, reason, self._case(seed)[0].text))
            else:
                self.counts.add(ended.value)
            for finding in self.findings[before:]:
                if report is not None:
                    report(finding)
            if spent is not None:
                spent(time.monotonic() - start)

    def _quick(self, seed: int) -> TrialCounts | None:
        """The counts of a trial in which nothing is wrong; None of another."""
        program, case = self._case(seed)
        outcome = self._compare(program.text, case)
        counts = TrialCounts()
        if outcome.kind == "unsupported":
            counts.unsupported = 1
        elif outcome.kind == "same":
            counts.programs, counts.packets = 1, len(case.packets)
        else:
            return None
        if self.engine is not None:
            tally = noise(seed, program.text)
            if tally.findings:
                return None
            counts.add(tally.counts)
        return counts

    def _case(self, seed: int) -> tuple[RandomProgram, FuzzInput]:
        program = self.write(seed) if self.write else random_program(seed, portable=self.engine is None)
        return program, FuzzInput(tuple(random_packets(Random(seed), PACKETS, program.hints)), seed)

    def trial(self, seed: int) -> None:
        """One random program with packets, some sources nearly like it, some P4Runtime messages; each by itself."""
        program, case = self._case(seed)
        fault = self._outcome(program.text, case)
        if fault.kind == "unsupported":
            self.counts.unsupported += 1
        elif fault.kind == "same":
            self.counts.programs += 1
            self.counts.packets += len(case.packets)
        else:
            self.findings.append(self._smallest(program.text, case, fault))
        if self.engine is None:
            return
        ended = isolated(lambda: noise(seed, program.text), TRIAL_S)
        if ended.value is None:
            self.findings.append(Finding("death", seed, f"noise: {ended.death}", program.text))
        else:
            self.counts.add(ended.value.counts)
            self.findings += ended.value.findings

    def _compare(self, text: str, case: FuzzInput) -> FuzzVerdict:
        return against_bmv2(text, case) if self.engine is None else compare(self.engine, text, case)

    def _outcome(self, text: str, case: FuzzInput) -> FuzzVerdict:
        """The verdict on a program that both engines run."""
        ended = isolated(partial(self._compare, text, case), TRIAL_S)
        return FuzzVerdict("death", ended.death) if ended.value is None else ended.value

    def _smallest(self, text: str, case: FuzzInput, fault: FuzzVerdict) -> Finding:
        """A finding with as few packets and lines as the time allows."""
        deadline = time.monotonic() + self.shrink_s
        if fault.kind == "refused":  # the message names the line
            return Finding(fault.kind, case.seed, fault.message, text)
        packets = minimise(
            case.packets,
            lambda some: self._outcome(text, replace(case, packets=tuple(some))).kind == fault.kind,
            deadline,
        )
        smaller = replace(case, packets=tuple(packets))
        lines = minimise(
            text.splitlines(), lambda some: self._outcome("\n".join(some), smaller).kind == fault.kind, deadline
        )
        shortest = "\n".join(lines) + "\n"
        return Finding(fault.kind, case.seed, self._outcome(shortest, smaller).message, shortest, smaller.packets)
