# SPDX-License-Identifier: Apache-2.0
"""Outputs and files of every command, in a folder, to be compared between two versions.

Record one version, then the other, and look at the differences::

    PYTHONPATH=… python tests/support/command_table.py record /tmp/before
    PYTHONPATH=… python tests/support/command_table.py record /tmp/after [REGEX]
    python tests/support/command_table.py compare /tmp/before /tmp/after

Each case runs in an empty folder and ends with its exit code, both streams and the JSON files that it wrote. Times, and
numbers that depend on the machine, are masked: a case that is ``measured`` keeps only the names in its JSON and the
words of its output.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).with_name("command_table.txt")
LIMIT_S = 300
_TIMES = re.compile(r"_s$|seconds|_ms$|_us$|_ns$|per_s|_pps$|^machine$|^command$|wall|^text$|throughput")
_NUMBER = re.compile(r"-?\d[\d,.]*(?:e[+-]?\d+)?")


class Case(NamedTuple):
    """A line of the table; ``measured`` says that its numbers depend on the machine."""

    arguments: str
    measured: bool


def cases() -> Iterator[Case]:
    """Every command's ``--help``, then the lines of ``command_table.txt``; ``~`` in front of one: measured."""
    for line in CASES.read_text().splitlines():
        text = line.partition(" # ")[0].strip()
        if text and not text.startswith("#"):
            yield Case(text.removeprefix("~").strip(), text.startswith("~"))


def run(case: Case) -> str:
    """The record of a case."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "ROOT": str(ROOT)}
        line = f"python -m offramp {case.arguments}".replace("$ROOT", shlex.quote(str(ROOT)))
        try:
            done = subprocess.run(
                line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT_S,
                check=False,
            )  # fmt: skip
            code, out, errors = str(done.returncode), done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            code, out, errors = f"more than {LIMIT_S} s", "", ""
        parts = [f"$ {case.arguments}", f"exit {code}", "-- stdout", _text(out, case), "-- stderr", _text(errors, case)]
        for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            parts.append(f"-- {path.relative_to(folder)}" + ("" if path.suffix == ".json" else " (is there)"))
            if path.suffix == ".json":
                parts.append(json.dumps(_masked(json.loads(path.read_text()), case.measured), indent=1))
        return "\n".join(parts).replace(str(ROOT), "$ROOT").replace(folder, "$PWD") + "\n"


def _text(text: str, case: Case) -> str:
    text = re.sub(r"\b\d+(\.\d+)?(e-?\d+)? (s|ms|us|ns)\b", "# s", text)
    text = _NUMBER.sub("#", text) if case.measured else text
    return "\n".join(re.sub(r" {2,}", "  ", line).rstrip() for line in text.splitlines())


def _masked(value: Any, measured: bool) -> Any:
    if isinstance(value, dict):
        return {k: "#" if _TIMES.search(str(k)) else _masked(v, measured) for k, v in value.items()}
    if isinstance(value, list):
        return [_masked(v, measured) for v in value[:1] if v] if measured else [_masked(v, measured) for v in value]
    if measured and isinstance(value, int | float) and not isinstance(value, bool):
        return "#"
    return f"{value:.6g}" if isinstance(value, float) else value


def record(folder: Path, only: str) -> None:
    """Run the cases whose arguments match, and write a file for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases():
        if re.search(only, case.arguments):
            name = re.sub(r"[^A-Za-z0-9.=-]+", "_", case.arguments)[:180]
            (folder / f"{name}.txt").write_text(run(case))
            print(case.arguments, flush=True)  # noqa: T201


def compare(before: Path, after: Path) -> int:
    """Print what differs between two folders; the number of cases that do."""
    different = 0
    for path in sorted(after.glob("*.txt")):
        other = before / path.name
        old = other.read_text().splitlines() if other.exists() else []
        lines = list(difflib.unified_diff(old, path.read_text().splitlines(), "before", "after", lineterm="", n=1))
        if lines:
            different += 1
            print(f"== {path.stem}", *lines[2:], sep="\n")  # noqa: T201
    print(f"{different} of {len(list(after.glob('*.txt')))} cases differ")  # noqa: T201
    return different


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["record", where, *pattern]:
            record(Path(where), pattern[0] if pattern else "")
        case ["compare", one, two]:
            sys.exit(1 if compare(Path(one), Path(two)) else 0)
        case _:
            sys.exit(__doc__)
