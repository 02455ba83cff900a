# SPDX-License-Identifier: Apache-2.0
"""Writing a report to disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from offramp.report.page import render
from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from pathlib import Path

    from offramp.report.model import Report


def write_report(report: Report, path: Path) -> tuple[Path, Path]:
    """Write the page to ``path`` and its data beside it as ``.json``; returns both paths.

    Raises:
        OfframpError: the folder cannot be made or written to.
    """
    data = path.with_suffix(".json")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, render(report))
        write_text(data, json.dumps(report.as_dict(), indent=1) + "\n")
    except OSError as error:
        raise OfframpError(f"report {path}: cannot be written: {error.strerror}") from None
    return path, data
