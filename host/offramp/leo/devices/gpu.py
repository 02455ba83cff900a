# SPDX-License-Identifier: Apache-2.0
"""``gpu:`` or ``gpu:cpu``: a PyTorch device on which functions answer many requests in one launch.

A GPU pays off when it does much at once: a thread takes all waiting requests, stacks the messages of one function and
form, copies them through pinned memory, and completes all of them. ``gpu:cpu`` computes the same on the processor.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from offramp.device import Completion, Message, Status
from offramp.leo.devices.cpu import CpuDevice, CpuOptions, WaitingRequest
from offramp.leo.devices.options import parse
from offramp.leo.gpu import GPU_FUNCTIONS, Form
from offramp.leo.memory import HostMemory
from offramp_base.errors import OfframpError


@dataclass(frozen=True)
class GpuOptions:
    """PyTorch's name of the device, how many requests may be outstanding, and the most that a launch answers."""

    on: str = "cuda"
    depth: int = 256
    batch: int = 64


def open_device(options: str, name: str) -> GpuDevice:
    """The device of these options; the first may be ``on`` alone."""
    return GpuDevice(parse(GpuOptions, options, f"gpu:{options}", "on"), name)


class GpuDevice(CpuDevice):
    """See the module; a :class:`offramp.device.Device`.

    Raises:
        OfframpError: PyTorch has no such device here, or options are out of range.
    """

    kind = "gpu"

    def __init__(self, options: GpuOptions, name: str = "gpu") -> None:
        try:
            self._on = torch.device(options.on)
            torch.empty(0, device=self._on)
        except (RuntimeError, AssertionError, NotImplementedError):
            problem = "PyTorch has no such device here; gpu:cpu computes the same on the processor"
            raise OfframpError(f"device {name}: {options.on}: {problem}") from None
        if options.batch < 1:
            raise OfframpError(f"device {name}: batch {options.batch}: expected at least 1")
        self._batch = options.batch
        super().__init__(CpuOptions(depth=options.depth), name)

    @property
    def functions(self) -> Sequence[str]:
        """Names of its functions."""
        return GPU_FUNCTIONS.names()

    def memory(self, function: str) -> HostMemory:
        """Raise an error: no function on a GPU has tables."""
        raise OfframpError(f"function {function}: it has no tables on device {self.name}")

    def compiled(self, function: str) -> None:  # noqa: ARG002
        """None, so that compiled loops leave its functions to its thread."""
        return

    def _work(self) -> None:
        while (jobs := self.together(self._batch)) is not None:
            forms: dict[tuple[str, Form], list[WaitingRequest]] = {}
            for job in jobs:
                if job.era != self._era:
                    continue
                try:
                    forms.setdefault((job.function, self._form(job.function, job.message)), []).append(job)
                except _RefusedError as refused:
                    self._finish(job, refused.status, b"", 0)
            for (function, form), alike in forms.items():
                begun = time.monotonic_ns()
                answers = list(self._answers(function, form, alike))
                busy_ns = (time.monotonic_ns() - begun) // len(alike)
                for job, (status, answer) in zip(alike, answers, strict=True):
                    self._finish(job, status, answer, busy_ns)

    def _form(self, function: str, message: Message) -> Form:
        if function not in GPU_FUNCTIONS:
            raise _RefusedError(Status.UNKNOWN_FUNCTION)
        try:
            return GPU_FUNCTIONS.get(function).form(message)
        except OfframpError:
            raise _RefusedError(Status.BAD_LENGTH) from None

    def _answers(self, function: str, form: Form, jobs: Sequence[WaitingRequest]) -> Iterator[tuple[Status, bytes]]:
        stacked = torch.from_numpy(np.frombuffer(bytearray().join(job.message for job in jobs), np.uint8))
        if self._on.type == "cuda":
            stacked = stacked.pin_memory()
        messages = stacked.view(len(jobs), len(jobs[0].message)).to(self._on, non_blocking=True)
        try:
            answers = GPU_FUNCTIONS.get(function).answer(form, messages).cpu().numpy()
        except Exception:  # whatever a user's function raises, the device goes on
            answers = np.empty(0)
        if answers.dtype != np.uint8 or answers.ndim != 2 or len(answers) != len(jobs):
            yield from ((Status.FAILED, b"") for _ in jobs)
        else:
            yield from ((Status.OK, row.tobytes()) for row in answers)

    def _finish(self, job: WaitingRequest, status: Status, answer: bytes, busy_ns: int) -> None:
        self._complete(job, Completion(job.request, status, answer, busy_ns))


class _RefusedError(Exception):
    """A request that does not reach the GPU."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status
