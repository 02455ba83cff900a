# SPDX-License-Identifier: Apache-2.0
"""All-reduce of tensors over ``torch.distributed`` ranks, added by LEO's devices.

with LeoSums({"acc": "model:service_us=200"}) as sums:
    sums.all_reduce(vector)

Each rank gets its part of every rank's vector, adds them up in chunks over all paths at once, and gives the sum to all.
A sum has the same bits whichever device makes it: vectors are added as a balanced tree
(:mod:`offramp.leo.functions.reduce`).
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from offramp.device import Status
from offramp.leo.applications.allreduce import measure, plan, program
from offramp.leo.functions import reduce
from offramp.leo.native.batch import RequestBatch
from offramp.leo.native.dataflow import CPU
from offramp.leo.runtime.idle import Idle
from offramp.leo.runtime.process import ResponderProcess
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.selection import AnyPolicy, Policy
from offramp_base.errors import OfframpError

ROWS: Final = 32
Floats = npt.NDArray[np.float32]
PIECE: Final = 1 << 14
"""Elements per chunk."""


class LeoSums:
    """The devices of a rank, in a process beside it.

    Args:
        devices: by name, as :func:`offramp.leo.devices.open_device` opens them; ``cpu`` is there anyway.
        group: process group of the ranks; all of them by default.
        policy: the rule that selects paths.

    Raises:
        OfframpError: a device is not there, or there are more than eight ranks.
    """

    def __init__(
        self,
        devices: Mapping[str, str] | None = None,
        group: dist.ProcessGroup | None = None,
        policy: AnyPolicy = Policy.LOOKAHEAD,
    ) -> None:
        self.ranks = dist.get_world_size(group)
        if self.ranks > reduce.MOST:
            raise OfframpError(f"{self.ranks} ranks: a device adds up to {reduce.MOST} vectors at a time")
        self._group = group
        specs = {CPU: "cpu:1", **(devices or {})}
        example = reduce.request(reduce.ElementType.FLOAT32, np.ones((self.ranks, PIECE), np.float32))
        self._process = ResponderProcess(plan(specs, ROWS))
        try:
            asked = program(list(specs), specs, measure(specs, example))
            settings = RequesterSettings(rows=ROWS, stride=len(example), policy=policy, timeout_s=30.0)
            self._requester = Requester(asked, [self._process], settings=settings)
        except BaseException:
            self._process.close()
            raise
        self.by_path = dict.fromkeys(specs, 0)
        """Chunks that each device has summed."""

    def all_reduce(self, vector: torch.Tensor) -> torch.Tensor:
        """Sum the ranks' float32 vectors in place; every rank gets the same bits.

        Raises:
            OfframpError: the type is not float32, or a device fails to add.
        """
        if vector.dtype != torch.float32:
            raise OfframpError(f"all-reduce of {vector.dtype}: expected float32")
        flat = vector.detach().reshape(-1)
        part = -(-flat.numel() // self.ranks)
        padded = torch.zeros(self.ranks * part)
        padded[: flat.numel()] = flat
        shares = torch.empty_like(padded)
        dist.all_to_all_single(shares, padded, group=self._group)
        mine = torch.from_numpy(self._add(shares.numpy().reshape(self.ranks, part)))
        dist.all_gather_into_tensor(padded, mine, group=self._group)
        vector.copy_(padded[: flat.numel()].reshape(vector.shape))
        return vector

    def _add(self, shares: Floats) -> Floats:
        """Sum chunks over all paths, with as many outstanding as the table holds."""
        total = np.empty(shares.shape[1], np.float32)
        starts = range(0, shares.shape[1], PIECE)
        sent = done = 0
        idle = Idle()
        while done < len(starts):
            worked = False
            while sent < len(starts) and self._requester.free:
                worked = self._send(sent, shares[:, starts[sent] : starts[sent] + PIECE]) or worked
                sent += 1
            worked |= self._requester.step()
            ended = self._requester.collect(ROWS)
            for i in range(ended.count):
                start = int(ended.users[i]) * PIECE
                if ended.statuses[i] != Status.OK:
                    status = Status(int(ended.statuses[i]))
                    raise OfframpError(f"all-reduce: a device has not added a chunk: {status.name}")
                total[start : start + PIECE] = np.frombuffer(ended.answer(i), np.float32)
                self.by_path[self._requester.program.paths[int(ended.paths[i])]] += 1
            done += ended.count
            idle(worked=worked or ended.count > 0)
        return total

    def _send(self, number: int, vectors: Floats) -> bool:
        message = np.frombuffer(reduce.request(reduce.ElementType.FLOAT32, vectors), np.uint8)
        zeros = np.zeros(1, np.int64)
        batch = RequestBatch(zeros, zeros, message, zeros, np.array([len(message)], np.int64))
        return self._requester.admit(batch, np.array([number], np.int64)) > 0

    def close(self) -> None:
        """End the process; a second call does nothing."""
        self._requester.close()
        self._process.close()

    def __enter__(self) -> Self:
        """Enter a ``with`` statement, at whose end the process ends."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the process of the devices."""
        self.close()
