"""A run of the fuzzer: kinds of trials in turn, counts, findings with their reproducers."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from offramp.errors import OfframpError
from offramp_sim.p4.frontend import load_text
from offramp_sim.p4.fuzz.compare import Case, Make, difference, python_engine
from offramp_sim.p4.fuzz.minimise import minimise
from offramp_sim.p4.fuzz.noise import random_source, try_source
from offramp_sim.p4.fuzz.packets import random_packets
from offramp_sim.p4.fuzz.programs import random_program

PACKETS = 24


@dataclass(slots=True)
class Counts:
    """What has been tried.

    Attributes:
        programs: random programs that ran on both engines, with ``packets`` packets.
        unsupported: programs that the tested engine refuses by name.
        sources, messages: pieces of noise, of which some were ``accepted``.
    """

    programs: int = 0
    packets: int = 0
    unsupported: int = 0
    sources: int = 0
    sources_accepted: int = 0
    messages: int = 0
    messages_accepted: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: which trial, what happened, and the program and packets that show it."""

    kind: str
    seed: int
    message: str
    source: str = ""
    packets: tuple[tuple[int, bytes], ...] = ()

    def write(self, folder: Path) -> list[Path]:
        """Write reproducer files: the program, and an STF file with what was found and the packets."""
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / f"{self.kind}-{self.seed}"
        stf = [f"# {line}" for line in (f"{self.kind}, seed {self.seed}", *self.message.splitlines())]
        stf += [f"packet {port} {frame.hex()}" for port, frame in self.packets]
        files = {stem.with_suffix(".p4"): self.source, stem.with_suffix(".stf"): "\n".join(stf) + "\n"}
        for path, text in files.items():
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return list(files)


@dataclass(slots=True)
class Campaign:
    """Trials from consecutive seeds.

    Args:
        engine: makes the switch that is compared with the Python engine.
        seed: of the first trial; trial ``n`` has seed ``seed + n`` and can be repeated by itself.
        shrink_s: time to spend on each finding's reproducer.
    """

    engine: Make
    seed: int = 0
    shrink_s: float = 30.0
    counts: Counts = field(default_factory=Counts)
    findings: list[Finding] = field(default_factory=list)

    def run(
        self, seconds: float = float("inf"), trials: float = float("inf"), told: Callable[[Finding], Any] | None = None
    ) -> None:
        """Go on until the time or the number of trials is used up."""
        end, done = time.monotonic() + seconds, 0
        while time.monotonic() < end and done < trials:
            before = len(self.findings)
            self.trial(self.seed + done)
            done += 1
            for finding in self.findings[before:]:
                if told is not None:
                    told(finding)

    def trial(self, seed: int) -> None:
        """One random program with packets, some sources nearly like it, some P4Runtime messages."""
        made = random_program(seed)
        case = Case(tuple(random_packets(Random(seed), PACKETS, made.hints)), seed)
        fault = self._compare(made.text, case)
        if fault is not None:
            self.findings.append(self._smallest(made.text, case, fault))
        self._noise(seed, made.text)

    def _compare(self, text: str, case: Case) -> tuple[str, str] | None:
        """(kind, message) of what is wrong with a program."""
        try:
            program = load_text(text, "random.p4")
            oracle = python_engine(program)
        except OfframpError as error:
            return "refused", str(error)
        except Exception:  # noqa: BLE001  that is what we are looking for
            return "crash", traceback.format_exc(limit=-4)
        try:
            tested = self.engine(program)
        except OfframpError:
            self.counts.unsupported += 1
            return None
        except Exception:  # noqa: BLE001
            return "crash", traceback.format_exc(limit=-4)
        try:
            found = difference(oracle, tested, case)
        except Exception:  # noqa: BLE001
            return "crash", traceback.format_exc(limit=-4)
        self.counts.programs += 1
        self.counts.packets += len(case.packets)
        return None if found is None else ("difference", found)

    def _smallest(self, text: str, case: Case, fault: tuple[str, str]) -> Finding:
        kind, deadline = fault[0], time.monotonic() + self.shrink_s
        counts = self.counts
        self.counts = Counts()  # of the search, which nobody wants to know

        def packets_fail(packets: Sequence[tuple[int, bytes]]) -> bool:
            return (self._compare(text, Case(tuple(packets), case.seed)) or ("",))[0] == kind

        def lines_fail(lines: Sequence[str]) -> bool:
            return (self._compare("\n".join(lines), smaller) or ("",))[0] == kind

        packets = minimise(case.packets, packets_fail, deadline) if kind != "refused" else []
        smaller = Case(tuple(packets), case.seed)
        lines = minimise(text.splitlines(), lines_fail, deadline) if kind != "refused" else text.splitlines()
        shortest = "\n".join(lines) + "\n"
        message = (self._compare(shortest, smaller) or fault)[1]
        self.counts = counts
        return Finding(kind, case.seed, message, shortest, smaller.packets)

    def _noise(self, seed: int, model: str) -> None:
        rng = Random(seed)
        for _ in range(4):
            source = random_source(rng, model)
            try:
                self.counts.sources_accepted += try_source(source) == "accepted"
            except Exception:  # noqa: BLE001
                self.findings.append(Finding("source", seed, traceback.format_exc(limit=-4), source))
            self.counts.sources += 1
        self._messages(rng, seed, model)

    def _messages(self, rng: Random, seed: int, model: str) -> None:
        from offramp_sim.p4.fuzz.messages import RandomController

        try:
            controller = RandomController(load_text(model, "random.p4"), rng)
        except OfframpError:
            return  # a program that P4Info cannot describe; the comparison has told if it is one that should load
        for _ in range(20):
            try:
                self.counts.messages_accepted += controller.step() == "accepted"
            except Exception:  # noqa: BLE001
                self.findings.append(Finding("message", seed, traceback.format_exc(limit=-6), model))
                return
            self.counts.messages += 1
