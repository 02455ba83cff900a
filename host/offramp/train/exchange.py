# SPDX-License-Identifier: Apache-2.0
"""Delivery of messages to the sums to which they belong, through the switch and from worker to worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch

from offramp.workers.all_to_all import all_to_all
from offramp.workers.traffic import Traffic

if TYPE_CHECKING:
    import numpy.typing as npt

    from offramp.switchgnn.plan import Plan
    from offramp.switchgnn.stats import WorkerStats
    from offramp.train.worker_exchange import WorkerExchange
    from offramp.workers.group import Group
    from offramp_base.transport.base import LinkStats


class Exchanger(Protocol):
    """The switch's end of an exchange: :class:`offramp.switchgnn.worker.Worker`, or a model of it."""

    @property
    def stats(self) -> WorkerStats:
        """Counts of what was sent and received so far."""

    @property
    def link(self) -> LinkStats:
        """Counts of what this end of the link carried and lost so far."""

    def exchange(self, plan_index: int, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Sums of a plan's rows."""


class SwitchExchange:
    """One worker's exchanges of one width.

    Args:
        exchanger: the worker's connection to the switch.
        group: the workers.
        part: its part of the exchange.
        plan_index: index of the plan among the switch's plans.
        plan: that plan.
        hosts: counts of what is sent from worker to worker.
    """

    def __init__(
        self, exchanger: Exchanger, group: Group, part: WorkerExchange, plan_index: int, plan: Plan, hosts: Traffic
    ) -> None:
        self.part = part
        self.group = group
        self.hosts = hosts
        self._exchanger = exchanger
        self._plan_index = plan_index
        self._blocks = len(plan.blocks)
        self._width = plan.width
        uploads = np.arange(part.rows)
        self._whole = np.array_equal(part.sum_rows, uploads) and np.array_equal(
            part.sum_vertices, np.arange(len(part.terms))
        )
        self._in_order = np.array_equal(part.upload_rows, uploads) and np.array_equal(part.upload_messages, uploads)

    def messages(self, values: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
        """Map ``(b, F)`` int32 values of the boundary vertices to ``(m, F)`` messages; no sum overflows int32."""
        if self.part.messages is None:
            return values.astype(np.int32, copy=False)
        return np.asarray(self.part.messages @ values.astype(np.int64)).astype(np.int32)

    def add(self, messages: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Map ``(m, F)`` messages to the ``(b, F)`` sums of the local boundary vertices.

        Raises:
            OfframpError: another worker or the switch cannot be reached.
        """
        part = self.part
        alone = self._blocks and self._whole and self._in_order and not part.by_hosts
        if alone and 0 < messages.shape[1] <= self._width:
            return self._exchanger.exchange(self._plan_index, messages[: part.rows])
        sums = np.zeros((len(part.terms), messages.shape[1]), np.int64)
        if part.by_hosts:
            rows = torch.from_numpy(messages[part.send_messages])
            counts = part.send_counts.tolist(), part.receive_counts.tolist()
            received = all_to_all(self.group, self.hosts, rows, *counts).numpy()
            sums += part.received @ received.astype(np.int64)
        if self._blocks:
            values = messages[: part.rows]
            if not self._in_order:
                values = np.zeros((part.rows, messages.shape[1]), np.int32)
                values[part.upload_rows] = messages[part.upload_messages]
            for start in range(0, messages.shape[1], self._width):
                chunk = np.ascontiguousarray(values[:, start : start + self._width])
                brought = self._exchanger.exchange(self._plan_index, chunk)
                sums[part.sum_vertices, start : start + self._width] += brought[part.sum_rows]
        return sums

    def traffic(self) -> Traffic:
        """Traffic of the worker's link so far, both ways."""
        up, down = self._exchanger.stats.up, self._exchanger.stats.down
        return self.hosts + Traffic(
            up.payload_bytes,
            down.payload_bytes,
            up.wire_bytes,
            down.wire_bytes,
            up.packets,
            down.packets,
            self._exchanger.link.lost,
        )
