# SPDX-License-Identifier: Apache-2.0
"""The end of a rank that a launcher started."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys

from offramp.workers.place import find_place
from offramp_base.errors import OfframpError


def leave_as_rank(code: object) -> None:
    """If torchrun or srun started this process, end it now with the status of ``SystemExit(code)``; else return.

    Functions registered with :mod:`atexit` still run. Python's own shutdown after that would end threads that wait in
    gloo by unwinding C++ code that does not allow it: occasionally, a rank that had done its work was aborted
    (SIGABRT).
    """
    try:
        if find_place() is None:
            return
    except OfframpError:
        return
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)
