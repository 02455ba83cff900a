# SPDX-License-Identifier: Apache-2.0
"""Processor time of other processes, to the nanosecond."""

from __future__ import annotations

from pathlib import Path

from offramp_base.errors import OfframpError


def cpu_ns(pid: int) -> int:
    """Nanoseconds that all threads of a process have run so far, in the kernel too (proc(5), schedstat).

    Raises:
        OfframpError: the process is gone.
    """
    try:
        texts = [(task / "schedstat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        raise OfframpError(f"process {pid}: is gone") from None
    return sum(int(text.split()[0]) for text in texts)
