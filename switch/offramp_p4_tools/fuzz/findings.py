# SPDX-License-Identifier: Apache-2.0
"""Counts and findings of a run of the fuzzer."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path

from offramp_base.ending.files import written


@dataclass(slots=True)
class TrialCounts:
    """Counts of trials.

    Attributes:
        programs: random programs that ran on both engines, with ``packets`` packets.
        unsupported: programs that the tested engine refuses by name.
        sources, messages: pieces of noise, some of which were ``accepted``.
    """

    programs: int = 0
    packets: int = 0
    unsupported: int = 0
    sources: int = 0
    sources_accepted: int = 0
    messages: int = 0
    messages_accepted: int = 0

    def add(self, more: TrialCounts) -> None:
        """Add the counts of another run."""
        for each in fields(TrialCounts):
            setattr(self, each.name, getattr(self, each.name) + getattr(more, each.name))


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
            with written(path) as file:
                file.write(text.encode(errors="surrogateescape"))
        return list(files)


@dataclass(slots=True)
class Tally:
    """Counts and findings of one piece of work."""

    counts: TrialCounts = field(default_factory=TrialCounts)
    findings: list[Finding] = field(default_factory=list)
