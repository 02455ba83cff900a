# SPDX-License-Identifier: Apache-2.0
"""Frames that the kernel has taken are counted, whatever happens to those behind them."""

from __future__ import annotations

import errno
import socket

import numpy as np
import pytest

from offramp_base.transport import mmsg


class Kernel:
    """Takes as many messages at each call as it is told; below 0 it refuses with that error."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)

    def sendmmsg(self, *_: object) -> int:
        answer = self.answers.pop(0)
        if answer < 0:
            mmsg.ctypes.set_errno(-answer)
            return -1
        return answer


@pytest.mark.parametrize("full", [errno.ENOBUFS, errno.EAGAIN])
@pytest.mark.parametrize("taken", [1, 3])
def test_messages_taken_before_the_queue_was_full_are_counted(monkeypatch, full: int, taken: int) -> None:
    monkeypatch.setattr(mmsg, "LIBC", Kernel(taken, -full))
    with socket.socket() as sock:
        assert mmsg.send_many(sock, np.zeros(5, mmsg.HEADER)) == taken


def test_a_full_queue_that_took_nothing_is_an_error_unless_it_is_only_busy(monkeypatch) -> None:
    headers = np.zeros(5, mmsg.HEADER)
    with socket.socket() as sock:
        monkeypatch.setattr(mmsg, "LIBC", Kernel(-errno.EAGAIN))
        assert mmsg.send_many(sock, headers) == 0
        monkeypatch.setattr(mmsg, "LIBC", Kernel(-errno.ENOBUFS))
        with pytest.raises(OSError, match="buffer space"):
            mmsg.send_many(sock, headers)
