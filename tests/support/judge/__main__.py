# SPDX-License-Identifier: Apache-2.0
"""``make judge``: ask every judge on ``PATH``, write the table, and name in one line those that are missing."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from judge import bmv2, p4c, testgen, tofino
from judge.verdict import ROOT, ReferenceTool, Verdict, table
from offramp_p4.reference.process import TARGETS

_MAIN = re.compile(r"^(?!\s*#).*\bmain\s*;", re.MULTILINE)
_PACKAGES = {"v1model.p4": TARGETS["V1Switch"], "psa.p4": TARGETS["PSA_Switch"], "pna.p4": TARGETS["PNA_NIC"]}
JUDGES = (
    *(ReferenceTool(t.compiler, "p4c", partial(p4c.judge, t.compiler, name)) for name, t in _PACKAGES.items()),
    *(ReferenceTool(t.switch, "bmv2", partial(bmv2.judge, t, name), (t.cli,)) for name, t in _PACKAGES.items()),
    ReferenceTool(testgen.NAME, "p4c", testgen.judge),
    ReferenceTool(tofino.NAME, "p4c's Tofino back end", tofino.judge),
)


def programs(folders: Sequence[Path]) -> list[Path]:
    """All programs of these folders that stand by themselves, and files that are named."""
    files = [file for each in folders for file in (sorted(each.rglob("*.p4")) if each.is_dir() else [each])]
    return [file for file in files if file.with_suffix(".stf").is_file() or _MAIN.search(_text(file))]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def main(words: Sequence[str] | None = None, judges: Sequence[ReferenceTool] = JUDGES) -> int:
    """Ask the judges; the exit status is 1 if one of them differs, and 2 if none is there."""
    parser = argparse.ArgumentParser(prog="judge", description=__doc__)
    parser.add_argument(
        "programs", nargs="*", type=Path, default=[ROOT / "p4", ROOT / "tests/p4/stf", ROOT / "tests/p4/bmv2"]
    )
    parser.add_argument("--out", type=Path, help="file for the table")
    given = parser.parse_args(words)
    absent = [str(path) for path in given.programs if not path.exists()]
    if absent:
        parser.error(f"not there: {', '.join(absent)}")
    missing = [f"{', '.join(each.missing)} ({each.of})" for each in judges if each.missing]
    if missing:
        sys.stderr.write(f"not on PATH: {'; '.join(missing)}; see docs/how-to/bmv2-and-p4c.md\n")
    present = [each for each in judges if not each.missing]
    if not present:
        return 2
    chosen, verdicts = programs(given.programs), list[Verdict]()
    with tempfile.TemporaryDirectory() as folder:
        for each in present:
            sys.stderr.write(f"{each.name} ...\n")
            (own := Path(folder) / each.name).mkdir()
            verdicts += each.judge(chosen, own)
    text = table(verdicts, {each.name: each.version for each in present})
    sys.stdout.write(text)
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text, encoding="utf-8")
    return int(not all(verdict.agrees for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(main())
