# SPDX-License-Identifier: Apache-2.0
"""Processes on which work relies: which descriptors tell of their end, and in which words."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from offramp_base.ending import reliance
from offramp_base.ending.reliance import death, descriptors, relied_on


def readable(seconds: float) -> list[int]:
    return select.select(descriptors(), [], [], seconds)[0]


@pytest.mark.parametrize("piped", [False, True])
def test_the_end_of_a_process_is_readable_and_has_words(piped: bool) -> None:
    out = subprocess.PIPE if piped else None
    with subprocess.Popen(["sleep", "60"], stdout=out, text=True) as process:
        with relied_on("the switch", process):
            assert len(descriptors()) == 1 + piped
            assert readable(0.0) == []
            process.kill()
            first = readable(10.0)[0]
            assert death(first) == "the switch was killed by SIGKILL"
        assert descriptors() == []


def test_what_it_still_writes_counts_as_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reliance, "_LINGERS_S", 0.05)
    command = [sys.executable, "-c", "print('I go', flush=True); import time; time.sleep(60)"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        with relied_on("the agent", process):
            (descriptor,) = readable(10.0)
            assert descriptor == process.stdout.fileno()  # type: ignore[union-attr]
            assert death(descriptor) == "the agent is ending"
        process.send_signal(signal.SIGKILL)


def test_a_kernel_without_pidfds_leaves_the_output_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: int) -> int:
        raise OSError("not here")

    monkeypatch.setattr(os, "pidfd_open", none)
    with subprocess.Popen(["true"], stdout=subprocess.PIPE, text=True) as process, relied_on("it", process):
        assert descriptors() == [process.stdout.fileno()]  # type: ignore[union-attr]
        assert readable(10.0) == descriptors()
        assert death(descriptors()[0]) == "it ended with exit code 0"
    with subprocess.Popen(["true"]) as silent, relied_on("it", silent):
        assert descriptors() == []


def test_descriptors_are_closed_with_the_context() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        with relied_on("one", process), relied_on("two", process):
            watched = descriptors()
            assert len({*watched}) == 2
        process.kill()
    for descriptor in watched:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
