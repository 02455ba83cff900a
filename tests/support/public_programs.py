# SPDX-License-Identifier: Apache-2.0
"""How many P4 programs of other people's repositories load, are described, and run alike on both engines.

    python tests/support/public_programs.py FOLDER...

Each folder holds one repository or several. A program is a file with a ``main``; what it includes is looked for in its
own folder, in those above it up to the repository, and in the repository's folders for headers. Entries and packets are
random, and packets follow the program's parser. The exit status is 1 where something crashes or the engines differ.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

from offramp_base.errors import OfframpError
from offramp_p4 import ir
from offramp_p4.frontend import load
from offramp_p4.frontend.syntax.includes import FolderIncludes
from offramp_p4.runtime.p4info import generate
from offramp_p4_tools.bmv2.write import to_json
from offramp_p4_tools.fuzz.compare import FuzzInput, difference, native_engine, python_engine
from offramp_p4_tools.fuzz.isolate import in_parallel
from offramp_p4_tools.fuzz.parsed import parsed_packets

_MAIN: Final = re.compile(r"^(?!\s*//).*\bmain\s*;", re.MULTILINE)
_HEADER_FOLDERS: Final = {"include", "includes", "common", "headers", "parsers", "p4", "p4src"}
_MOST_FOLDERS: Final = 40
_WITH_JSON: Final = {"V1Switch", "PSA_Switch", "PNA_NIC"}
_LIMIT_S: Final = 120.0
SEED: Final = 7


def programs(folder: Path) -> Iterator[Path]:
    """The files below a folder that declare a ``main``."""
    for path in sorted(folder.rglob("*.p4")):
        if path.is_file() and _MAIN.search(path.read_text(encoding="utf-8", errors="replace")):
            yield path


def loaded(path: Path, folder: Path) -> ir.Program:
    """The program, with the folders of its repository where it includes what does not lie beside it.

    Raises:
        OfframpError: it is refused.
    """
    try:
        return load(path)
    except OfframpError as error:
        if "include file" not in str(error):
            raise
    above = [each for each in path.parents if each.is_relative_to(folder)]
    repository = above[-2] if len(above) > 1 else folder
    named = (each for each in sorted(repository.rglob("*")) if each.is_dir() and each.name in _HEADER_FOLDERS)
    return load(path, includes=FolderIncludes([*above, *islice(named, _MOST_FOLDERS)]))


def judged(path: Path, folder: Path, packets: int) -> dict[str, str]:
    """What becomes of a program, by step: ``""``, or the reason against it; later steps are left out."""
    steps: dict[str, str] = {}

    def refused(step: str, error: Exception) -> None:
        lines = str(error).splitlines() or [type(error).__name__]
        steps[step] = lines[0] if isinstance(error, OfframpError) else f"crash: {type(error).__name__}: {lines[0]}"

    try:
        program = loaded(path, folder)
        steps["loads"] = ""
    except Exception as error:
        refused("loads", error)
        return steps
    descriptions = {"P4Info": generate} | ({"bmv2's JSON": to_json} if program.main.type_name in _WITH_JSON else {})
    for step, describe in descriptions.items():
        try:
            describe(program)
            steps[step] = ""
        except Exception as error:
            refused(step, error)
    try:
        frames = parsed_packets(program, Random(path.name), packets)
        engines = python_engine(program), native_engine(program)
        fault = difference(*engines, FuzzInput(tuple(frames), SEED))
        steps["runs alike"] = "" if fault is None else f"difference: {fault}"
    except Exception as error:
        refused("runs alike", error)
    return steps


def main(words: Sequence[str] | None = None) -> int:
    """Judge the programs; prints each reason as it comes, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--packets", type=int, default=40, help="packets for each program")
    parser.add_argument("--jobs", type=int, default=1, help="programs at a time")
    given = parser.parse_args(words)
    absent = [str(folder) for folder in given.folders if not folder.is_dir()]
    if absent:
        parser.error(f"not a folder: {', '.join(absent)}")
    chosen = ((path, folder) for folder in given.folders for path in programs(folder))
    works = ((path, partial(judged, path, folder, given.packets)) for path, folder in chosen)
    taken, asked, faults = Counter[str](), Counter[str](), 0
    for number, (path, outcome) in enumerate(in_parallel(works, _LIMIT_S, given.jobs), 1):
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{number} programs")
        steps = {"loads": f"crash: {outcome.death}"} if outcome.value is None else outcome.value
        for step, reason in steps.items():
            asked[step] += 1
            taken[step] += not reason
            if reason:
                faults += reason.startswith(("crash: ", "difference: "))
                sys.stdout.write(f"- {path}: {step}: {reason}\n")
                sys.stdout.flush()
    for step, count in asked.items():
        sys.stdout.write(f"{step}: {taken[step]} of {count}\n")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
