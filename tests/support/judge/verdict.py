# SPDX-License-Identifier: Apache-2.0
"""Verdicts of the judges, and the programs that they judge."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from offramp_p4.reference.process import LAUNCHER_MARK
from offramp_p4_tools.fuzz.isolate import in_parallel

ROOT: Final = Path(__file__).parents[3]
SAME: Final = "as ours"
_INCLUDE: Final = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
LIMIT_S: Final = 900.0
"""Seconds that one program may take."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge says of one program.

    Attributes:
        subject: what was compared: ``program``, ``P4Info``, ``JSON``, ``packets`` or ``stages``.
        words: :data:`SAME`, or the difference.
    """

    judge: str
    program: str
    subject: str
    words: str

    @property
    def agrees(self) -> bool:
        """Whether the judge and we say the same."""
        return self.words.startswith(SAME)


@dataclass(frozen=True, slots=True)
class ReferenceTool:
    """One foreign program.

    Attributes:
        name: command on ``PATH``.
        of: what it comes from, for those who lack it.
        judge: its verdicts of the programs; the last argument is a folder for its files.
        needs: further commands.
    """

    name: str
    of: str
    judge: Callable[[list[Path], Path], list[Verdict]]
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """Commands that are not on ``PATH``, or are launchers of ours, which would be compared with themselves."""
        return [name for name in (self.name, *self.needs) if not _is_foreign(name)]

    @property
    def version(self) -> str:
        """What the command says of its version, in a few words."""
        done = subprocess.run([self.name, "--version"], check=False, capture_output=True, text=True, timeout=60)
        numbers = re.search(r"\d+\.\d[\w.-]*(?: \(SHA: \w+)?", done.stdout + done.stderr)
        return numbers[0].replace(" (SHA: ", " ") if numbers else "of an unknown version"


def ask(judge: str, works: Iterable[tuple[Path, Callable[[], list[Verdict]]]], per_core: int = 1) -> list[Verdict]:
    """The verdicts of pieces of work on programs, by program; a piece that dies or takes too long is a verdict, too.

    Args:
        per_core: pieces at a time for each core, more than one where they mostly wait.
    """
    verdicts = list[Verdict]()
    pieces = ((path, partial(_in_time, judge, path, work)) for path, work in works)
    for path, outcome in in_parallel(pieces, LIMIT_S, per_core * (os.cpu_count() or 1)):
        dead = [Verdict(judge, shown(path), "program", f"not asked: {outcome.death}")]
        verdicts += dead if outcome.value is None else outcome.value
    return sorted(verdicts, key=lambda verdict: verdict.program)


def _in_time(judge: str, path: Path, work: Callable[[], list[Verdict]]) -> list[Verdict]:
    """The verdicts of a piece of work, in which a tool may give no answer."""
    try:
        return work()
    except subprocess.TimeoutExpired as error:
        return [Verdict(judge, shown(path), "program", f"not asked: no answer within {error.timeout:.0f} s")]


def _is_foreign(name: str) -> bool:
    path = shutil.which(name)
    if path is None:
        return False
    with Path(path).open("rb") as file:
        return LAUNCHER_MARK.encode() not in file.read(200)


def first_line(text: str) -> str:
    """The first line of what a program has written that says something is wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[0] if lines else "no message")[:200]


def table(verdicts: list[Verdict], versions: Mapping[str, str]) -> str:
    """The verdicts in Markdown: a row for each judge and subject, and a line for each difference."""
    lines = ["| Tool | Compared | As ours |", "|---|---|---|"]
    for judge, subject in dict.fromkeys((v.judge, v.subject) for v in verdicts):
        chosen = [v for v in verdicts if (v.judge, v.subject) == (judge, subject)]
        agree = sum(v.agrees for v in chosen)
        lines.append(f"| {judge} {versions.get(judge, '')} | {subject} | {agree} of {len(chosen)} |")
    lines.append("")
    lines += [f"- {v.judge}, {v.subject} of `{v.program}`: {v.words}" for v in verdicts if not v.agrees]
    return "\n".join(lines) + "\n"


def shown(path: Path) -> str:
    """A program's name in the table."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def includes(path: Path, architecture: str) -> bool:
    """Whether a program, or a file beside it that it includes, includes this file of an architecture."""
    visited, todo = {path}, [path]
    while todo:
        file = todo.pop()
        for word in _INCLUDE.findall(file.read_text(encoding="utf-8", errors="replace")):
            if word in {architecture, f"bmv2/{architecture}"}:
                return True
            beside = file.parent / word
            if beside.is_file() and beside not in visited:
                visited.add(beside)
                todo.append(beside)
    return False
