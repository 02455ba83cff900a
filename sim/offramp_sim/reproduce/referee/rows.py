# SPDX-License-Identifier: Apache-2.0
"""The rows of a sweep in a file, a line of JSON each, from which an interrupted sweep resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_sim.reproduce.referee.case import CaseResult, ItemCase

_SCHEMA: Final = "offramp.referee-rows/1"


class RowFile:
    """A file of rows; a line that a crash has left unfinished is ignored.

    Args:
        path: path of the file, made with the first row.
        program: identifies what rows depend on besides their cases; rows of another program are refused.

    Raises:
        OfframpError: the file holds something else, or rows of another program.
    """

    def __init__(self, path: Path, program: str) -> None:
        self.path, self._program = path, program
        self._rows: dict[ItemCase, CaseResult] = {}
        if not path.exists():
            return
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
            head = json.loads(lines[0])
            known = head["schema"] == _SCHEMA
        except (OSError, ValueError, TypeError, KeyError):
            known = False
        if not known:
            raise OfframpError(f"{path}: expected a referee's rows, or no file")
        if head["program"] != program:
            raise OfframpError(
                f"{path}: written by another version ({head['program']}, this is {program}): name another file"
            )
        for line in lines[1:]:
            try:
                row = CaseResult.from_plain(json.loads(line))
            except (ValueError, TypeError, KeyError):
                continue
            self._rows[row.case] = row

    def get(self, case: ItemCase) -> CaseResult | None:
        """The row of a case that has been run; None if it failed, so that it runs again."""
        row = self._rows.get(case)
        return None if row is None or row.error else row

    def put(self, row: CaseResult) -> None:
        """Write a row to the file at once.

        Raises:
            OfframpError: the file cannot be written.
        """
        self._rows[row.case] = row
        try:
            new = not self.path.exists()
            with self.path.open("a", encoding="utf-8") as file:
                if new:
                    file.write(_line({"schema": _SCHEMA, "program": self._program}))
                elif not _ends_a_line(self.path):
                    file.write("\n")
                file.write(_line(row.to_plain()))
        except OSError as error:
            raise OfframpError(f"{self.path}: {error.strerror}") from None


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, default=str) + "\n"


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"
