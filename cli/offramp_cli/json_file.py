# SPDX-License-Identifier: Apache-2.0
"""The files that a command is asked to write: ``--json`` and others, checked before the work begins."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

from offramp_base.ending.files import write_text
from offramp_base.errors import OfframpError


def expect_writable(flag: str, path: str | None) -> None:
    """Refuse a file that an option names and that cannot be made, before hours go into what it should hold.

    Raises:
        OfframpError: its folder is missing or closed to us, or it is a folder itself.
    """
    if path is None:
        return
    where = Path(path)
    if where.is_dir():
        reason = errno.EISDIR
    elif not where.parent.is_dir():
        reason = errno.ENOTDIR if where.parent.exists() else errno.ENOENT
    elif not os.access(where.parent, os.W_OK):
        reason = errno.EACCES
    else:
        return
    raise OfframpError(f"{flag} {path}: cannot be written: {os.strerror(reason)}")


def write_json(path: str | None, numbers: Any) -> None:
    """Write numbers for programs, if a file is asked for.

    Raises:
        OfframpError: the file cannot be written.
    """
    if path is None:
        return
    try:
        write_text(Path(path), json.dumps(numbers, indent=2) + "\n")
    except OSError as error:
        raise OfframpError(f"--json {path}: cannot be written: {error.strerror}") from None
