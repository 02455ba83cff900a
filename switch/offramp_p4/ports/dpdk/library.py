# SPDX-License-Identifier: Apache-2.0
"""The functions of the library of ports, as ``smartnic/ports/ports.h`` declares them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_p4.ports.dpdk.sources import library

MOST_WORKERS: Final = 16
_MEMORY_MB: Final = 160
"""Memory in MB that DPDK reserves: 16,383 frames of 2,048 bytes, and rings."""
_INT: Final = ctypes.c_int
_LONG: Final = ctypes.c_int64
_AT: Final = ctypes.c_void_p


class ContextLayout(ctypes.Structure):
    """Words of a context: see ``offramp_layout``."""

    _fields_ = tuple((name, _LONG) for name in ("now_us", "out_data", "out_used", "index_data", "index_used"))


class WorkerProgram(ctypes.Structure):
    """The machine code that a worker runs: see ``offramp_program``."""

    _fields_ = (*((name, _LONG) for name in ("run", "whole", "context", "epoch_ns")), ("layout", ContextLayout))


class PortStats(ctypes.Structure):
    """Counts of a port: see ``offramp_port_stats``."""

    _fields_ = tuple((name, ctypes.c_uint64) for name in ("received", "sent", "dropped", "missed", "up"))


class DpdkWorkerStats(ctypes.Structure):
    """Counts of a worker: see ``offramp_worker_stats``."""

    _fields_ = tuple(
        (name, ctypes.c_uint64) for name in ("received", "processed", "handed", "lost", "unknown", "cpu_ns")
    )


_FUNCTIONS: Final[dict[str, tuple[Any, ...]]] = {
    "error": (ctypes.c_char_p,),
    "start": (_INT, _INT, ctypes.POINTER(ctypes.c_char_p)),
    "open": (_INT, ctypes.c_char_p, ctypes.c_char_p, _INT, _INT),
    "close": (None, _INT),
    "port_stats_of": (_INT, _INT, ctypes.POINTER(PortStats)),
    "workers": (_INT, _INT, _INT),
    "assign": (None, _INT, _INT),
    "program_of": (None, _INT, ctypes.POINTER(WorkerProgram)),
    "run_workers": (None,),
    "worker_stats_of": (_INT, _INT, ctypes.POINTER(DpdkWorkerStats)),
    "end_workers": (None,),
    "pause": (None,),
    "resume": (None,),
    "exceptions_fd": (_INT,),
    "exceptions": (_LONG, _AT, _LONG, _AT, _AT, _LONG),
    "send": (_LONG, _INT, _AT, _LONG, _AT, _AT, _LONG),
}
"""Result and parameters by name, without ``offramp_``."""


class DpdkLibrary:
    """The functions by their names without ``offramp_``; the GIL is released while one runs.

    Raises:
        OfframpError: the library cannot be built or loaded.
    """

    def __init__(self) -> None:
        path = library()
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError as error:
            raise OfframpError(f"DPDK's ports: {error}; apt-get install libdpdk-dev") from None
        for name, (result, *parameters) in _FUNCTIONS.items():
            function = getattr(loaded, f"offramp_{name}")
            function.restype, function.argtypes = result, parameters
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def check(self, code: int, what: str) -> None:
        """Check the result of a function.

        Raises:
            OfframpError: the function has failed.
        """
        if code < 0:
            raise OfframpError(f"{what}: {self.error().decode()}")

    def begin(self, devices: Sequence[str], *, huge: bool) -> None:
        """Start DPDK, unless it runs: devices are those on the PCI bus that it may take.

        Raises:
            OfframpError: it does not start.
        """
        cpus = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        words = ["offramp", "--no-telemetry", "--log-level=critical", "-m", str(_MEMORY_MB), f"--lcores=0@({cpus})"]
        # Nothing of this process is left in the file system, with either kind of memory.
        words += ["--in-memory"] if huge else ["--no-huge", "--no-shconf"]
        words += [f"--allow={device}" for device in devices] or ["--no-pci"]
        encoded = (ctypes.c_char_p * len(words))(*[word.encode() for word in words])
        self.check(self.start(len(words), encoded), "DPDK's ports")


@cache
def ports_library() -> DpdkLibrary:
    """The library, loaded once.

    Raises:
        OfframpError: it cannot be built or loaded.
    """
    return DpdkLibrary()
