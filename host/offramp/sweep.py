# SPDX-License-Identifier: Apache-2.0
"""Many runs of one function, in processes on this machine or on a cluster of Dask, Ray or Slurm.

Results come in the order of the cases, so that a sweep gives the same results wherever it runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from offramp_base.ending.pool import each_in_process
from offramp_base.errors import OfframpError, first_line
from offramp_base.extras import needs
from offramp_base.progress import report
from offramp_base.settings.error import SettingsError

_C = TypeVar("_C")
_R = TypeVar("_R")

_CONNECT_S: Final = 10
_RAY: Final = "ray:"
_SLURM: Final = "slurm:"


_everywhere: ContextVar[str | None] = ContextVar("_everywhere", default=None)


@contextmanager
def on_dask(address: str | None) -> Iterator[None]:
    """Run all sweeps within the block on a cluster, also those of called functions; None changes nothing."""
    token = _everywhere.set(address or _everywhere.get())
    try:
        yield
    finally:
        _everywhere.reset(token)


def sweep(
    function: Callable[[_C], _R],
    cases: Sequence[_C],
    *,
    processes: int | None = None,
    dask: str | None = None,
    what: str = "running",
    each: Callable[[_R], object] | None = None,
) -> list[_R]:
    """Apply ``function`` to each case.

    Args:
        function: a module-level function, so that other processes can import it.
        cases: arguments that can be pickled.
        processes: number of processes; by default one per core; 1 stays in this process.
        dask: address of a cluster to run on instead: a Dask scheduler's, such as ``tcp://10.0.0.1:8786``, or Ray's,
            ``ray://HEAD:10001``, ``ray:HEAD:6379`` or ``ray:local``; or ``slurm:`` with options of sbatch, such as
            ``slurm:--partition=cpu``, for an array job. By default that of :func:`on_dask`.
        what: name of the sweep in reports of its progress (:mod:`offramp_base.progress`).
        each: called with every result as it arrives, in this process.

    Raises:
        OfframpError: a case raises it, a process dies, or no cluster answers.
    """
    if processes is not None and processes < 1:
        raise SettingsError("processes", "expected at least 1", processes)
    teller = _Teller(what, len(cases), each)
    dask = dask or _everywhere.get()
    if dask is not None:
        by = _on_ray if dask.startswith(_RAY) else _on_slurm if dask.startswith(_SLURM) else _on_dask
        return by(function, cases, dask, teller)
    count = min(processes or available_cores(), len(cases))
    if count <= 1:
        return [teller(function(case)) for case in cases]
    return _in_processes(function, cases, count, teller)


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Teller:
    """Counts finished cases and reports them."""

    def __init__(self, what: str, total: int, each: Callable[[Any], object] | None) -> None:
        self._what, self._total, self._count, self._each = what, total, 0, each
        report(what, 0, total)

    def __call__(self, result: _R) -> _R:
        if self._each is not None:
            self._each(result)
        self._count += 1
        report(self._what, self._count, self._total)
        return result


def _in_processes(function: Callable[[_C], _R], cases: Sequence[_C], count: int, teller: _Teller) -> list[_R]:
    results = {number: teller(result) for number, result in each_in_process(function, cases, count)}
    return [results[number] for number in range(len(cases))]


def _on_dask(function: Callable[[_C], _R], cases: Sequence[_C], address: str, teller: _Teller) -> list[_R]:
    from importlib import import_module

    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise SettingsError("dask", needs("distributed")) from None
    try:
        client = distributed.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, TimeoutError):
        raise SettingsError("dask", "no Dask scheduler answers there", address) from None
    with client, client.as_current():
        futures = client.map(function, list(cases), pure=False)
        for future in distributed.as_completed(futures):
            teller(future.result())
        gathered: list[_R] = client.gather(futures)
        return gathered


def _on_slurm(function: Callable[[_C], _R], cases: Sequence[_C], address: str, teller: _Teller) -> list[_R]:
    from offramp.workers.slurm_array import each_in_array

    results = {
        number: teller(result) for number, result in each_in_array(function, cases, address.removeprefix(_SLURM))
    }
    return [results[number] for number in range(len(cases))]


def _call(function: Callable[[_C], _R], case: _C) -> _R:
    """A function of this module for Ray, which refuses built-in ones."""
    return function(case)


def _on_ray(function: Callable[[_C], _R], cases: Sequence[_C], address: str, teller: _Teller) -> list[_R]:
    from importlib import import_module

    try:
        ray: Any = import_module("ray")
    except ImportError:
        raise SettingsError("dask", needs("ray"), address) from None
    where = address if address.startswith("ray://") else address.removeprefix(_RAY)
    try:
        ray.init(where, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, TimeoutError, RuntimeError):
        raise SettingsError("dask", "no Ray cluster answers there", address) from None
    try:
        task = ray.remote(_call)
        futures = [task.remote(function, case) for case in cases]
        waiting = list(futures)
        while waiting:
            done, waiting = ray.wait(waiting)
            teller(ray.get(done[0]))
        results: list[_R] = ray.get(futures)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, Exception):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        raise OfframpError(f"dask {address}: {first_line(error)}") from None
    finally:
        ray.shutdown()
    return results
