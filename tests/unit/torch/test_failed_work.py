# SPDX-License-Identifier: Apache-2.0
"""Waiting for work of the group in Python fails where the collective has failed, before the wait or during it."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.distributed as dist

from offramp.torch.fallback import _FutureWork


@pytest.mark.parametrize("late_s", [0.0, 0.05])
def test_waiting_fails_with_the_collective(late_s: float) -> None:
    future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
    timer = threading.Timer(late_s, lambda: future.set_exception(dist.DistBackendError("rank 1 is gone")))
    timer.start()
    work = _FutureWork(future)
    for wait in (work.wait, work.result):
        with pytest.raises(RuntimeError, match="rank 1 is gone"):
            wait()
    timer.join()
    assert work.is_completed()


def test_work_that_succeeds_has_its_outputs() -> None:
    future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
    work = _FutureWork(future)
    assert not work.is_completed()
    future.set_result([torch.ones(2)])
    assert work.wait()
    assert work.is_completed()
    assert work.result()[0].tolist() == [1, 1]
    assert work.get_future() is future
