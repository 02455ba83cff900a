"""The file behind ``--json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from offramp.errors import OfframpError


def write_json(path: str | None, numbers: Any) -> None:
    """Write numbers for programs, if a file is asked for.

    Raises:
        OfframpError: the file cannot be written.
    """
    if path is None:
        return
    try:
        Path(path).write_text(json.dumps(numbers, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise OfframpError(f"--json {path}: cannot be written: {error.strerror}") from None
