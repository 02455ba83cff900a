# SPDX-License-Identifier: Apache-2.0
"""What ``docs/LIMITATIONS.md`` once said about jobs on engines, and when it ceased to.

``python tests/support/engine_limits.py`` draws ``docs/results/engine-limits.svg`` from the history. A limit stands at a
revision where one of the ways in which it was said is in the file; its bar ends on the day of the first one without it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = "docs/LIMITATIONS.md"
FIRST: Final = "9c0b66f6^"
"""The revision before the page was shortened, when nothing had run on an engine."""


class EngineLimit(NamedTuple):
    """A limit in a few words, and the ways in which the page said it."""

    what: str
    said: str


LIMITS: Final = (
    EngineLimit("Slurm was never run", r"Slurm was never run"),
    EngineLimit("ssh and srun were not exercised", r"`ssh` and `srun` were not exercised"),
    EngineLimit("a rank by ssh needs a terminal", r"ends when its terminal does"),
    EngineLimit("exports: after documentation only", r"exporters are written after"),
    EngineLimit("agents are not started with a job", r"starts no agents"),
    EngineLimit("bitstreams are not loaded with a job", r"installs no bitstreams"),
    EngineLimit("queues are not set with a job", r"no queues of hosts"),
    EngineLimit("systems do not share a switch", r"A switch runs one program|all-reduce do not share a switch"),
    EngineLimit("checkpoints: files that all hosts see", r"Checkpoints are files that all|checkpoints must be visible"),
    EngineLimit("jobs of DGS begin again", r"sampled training, transformers|Only full-graph training and programs"),
    EngineLimit("jobs of TorchGT begin again", r"sampled training, transformers|Only full-graph training and programs"),
    EngineLimit("jobs of UniTG begin again", r"transformers, UniTG|Only full-graph training|UniTG does not resume"),
    EngineLimit("UniTG has no checkpoints", r"of both models together are not|no checkpoints of both models"),
    EngineLimit(
        "two SwitchGNN jobs do not share a switch",
        r"has its switches to itself|Two SwitchGNN jobs|SwitchGNN, Hermod and all-reduce do",
    ),
    EngineLimit("targets other than v1model take no job", r"other than v1model over P4Runtime take no job"),
    EngineLimit("DGTP's scripts for Slurm were not run", r"for Slurm was only checked|Scripts for Slurm"),
    EngineLimit("a dead laboratory host ends the job", r"death of a laboratory's host|dead laboratory host"),
)  # fmt: skip
_ROW, _TOP, _LEFT, _WIDTH = 24, 46, 330, 760


def stands(limit: EngineLimit, page: str) -> bool:
    """Whether a page says a limit."""
    return re.search(limit.said, " ".join(page.split())) is not None


def revisions() -> list[tuple[str, str]]:
    """Day and text of the page at each revision from the first one, in order, and as it is now.

    Raises:
        subprocess.CalledProcessError: the history is not here.
    """

    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True, text=True).stdout

    rows = git("log", "--first-parent", "--reverse", "--format=%H %cs", f"{FIRST}..HEAD", "--", PAGE).splitlines()
    first = git("log", "-1", "--format=%H %cs", FIRST).strip()
    known = [(day, git("show", f"{commit}:{PAGE}")) for commit, day in (row.split() for row in [first, *rows])]
    return [*known, (known[-1][0], (ROOT / PAGE).read_text())]


def ended(history: list[tuple[str, str]]) -> list[tuple[EngineLimit, int, str]]:
    """Each limit with the number of revisions in which it stands, and the day of the first without it; else empty."""
    rows = []
    for limit in LIMITS:
        standing = [stands(limit, page) for _, page in history]
        last = max((at for at, holds in enumerate(standing) if holds), default=-1)
        rows.append((limit, last + 1, "" if standing[-1] else history[last + 1][0]))
    return rows


def figure(history: list[tuple[str, str]]) -> str:
    """The picture: a row for each limit, those that went away first."""
    rows = sorted(ended(history), key=lambda row: row[1])
    gone = sum(bool(day) for _, _, day in rows)
    height = _TOP + _ROW * len(rows) + 14
    title = f"Limits of jobs on engines: {gone} of {len(rows)} went away"
    attributes = f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {attributes} role="img" aria-label="{title}">',
        "  <!-- SPDX-License-Identifier: Apache-2.0 -->",
        f'  <rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'  <text x="14" y="26" font-size="15" font-weight="bold" fill="#1b2733">{title}</text>',
    ]
    unit = (_WIDTH - _LEFT - 130) / len(history)
    for number, (limit, length, day) in enumerate(rows):
        y = _TOP + _ROW * number
        fill, said = ("#5b8c5a", day) if day else ("#b5523b", "stands")
        lines += [
            f'  <text x="14" y="{y + 14}" fill="#1b2733">{escape(limit.what)}</text>',
            f'  <rect x="{_LEFT}" y="{y + 3}" width="{max(2.0, unit * length):.1f}" height="14" fill="{fill}"/>',
            f'  <text x="{_LEFT + max(2.0, unit * length) + 8:.1f}" y="{y + 14}" fill="#44546a">{said}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--out", type=Path, default=ROOT / "docs/results/engine-limits.svg")
    given.parse_args().out.write_text(figure(revisions()))


if __name__ == "__main__":
    main()
