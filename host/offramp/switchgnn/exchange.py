# SPDX-License-Identifier: Apache-2.0
"""A worker's exchanges of boundary features for sums, through the switch and from worker to worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from offramp.workers.all_to_all import all_to_all
from offramp.workers.traffic import Traffic
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import torch

    from offramp.graph.csr import IntArray
    from offramp.switchgnn.exchange_plan import ExchangePlan, HostMessages
    from offramp.switchgnn.plan import Plan
    from offramp.switchgnn.stats import WorkerStats
    from offramp.workers.group import Group
    from offramp_base.transport.base import LinkStats


class SwitchLink(Protocol):
    """A worker's end of its link to the switch: :class:`offramp.switchgnn.worker.Worker`, or a model of it."""

    @property
    def stats(self) -> WorkerStats:
        """Counts of what was sent and received so far."""

    @property
    def link(self) -> LinkStats:
        """Counts of what this end of the link carried and lost so far."""

    def exchange(self, plan_index: int, values: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Sums of a plan's rows."""


class Exchange:
    """One worker's exchanges of one width.

    Args:
        plan: the worker's part of the exchange.
        link: its link to the switch.
        group: the workers, if some send each other messages.
        hosts: counts of these messages.
    """

    def __init__(
        self, plan: ExchangePlan, link: SwitchLink, group: Group | None = None, hosts: Traffic | None = None
    ) -> None:
        self.plan = plan
        self.group = group
        self.hosts = Traffic() if hosts is None else hosts
        self._link = link

    def sum(self, values: npt.NDArray[np.int32], *, messages: bool = False) -> npt.NDArray[np.int64]:
        """Map ``(b, F)`` values of the worker's boundary vertices to ``(b, F)`` sums over their remote neighbours.

        No sum may overflow int32. With ``messages``, the values are the plan's ``(m, F)`` messages.

        Raises:
            OfframpError: another worker or the switch cannot be reached.
        """
        plan, features = self.plan, values.shape[1]
        if not messages and plan.messages is not None:
            values = np.asarray(plan.messages @ values.astype(np.int64)).astype(np.int32)
        if plan.direct and 0 < features <= plan.width:
            return self._link.exchange(plan.index, values)
        sums = np.zeros((len(plan.terms), features), np.int64)
        if plan.hosts is not None:
            self._from_hosts(plan.hosts, values, sums)
        if plan.width:
            self._from_switch(values, sums)
        return sums

    def all_to_all(self, rows: torch.Tensor, send: Sequence[int], receive: Sequence[int]) -> torch.Tensor:
        """Exchange rows for each worker against those from each worker, counted as messages between hosts."""
        assert self.group is not None
        return all_to_all(self.group, self.hosts, rows, send, receive)

    def traffic(self) -> Traffic:
        """Traffic of the worker so far, both ways."""
        stats = self._link.stats
        up, down = stats.up, stats.down
        return self.hosts + Traffic(
            up.payload_bytes,
            down.payload_bytes,
            up.wire_bytes,
            down.wire_bytes,
            up.packets,
            down.packets,
            self._link.link.lost,
        )

    def _from_hosts(self, hosts: HostMessages, messages: npt.NDArray[np.int32], sums: npt.NDArray[np.int64]) -> None:
        """Add the messages that other workers send."""
        import torch

        rows = torch.from_numpy(messages[hosts.sent])
        received = self.all_to_all(rows, hosts.send_counts.tolist(), hosts.receive_counts.tolist())
        sums += hosts.received @ received.numpy().astype(np.int64)

    def _from_switch(self, messages: npt.NDArray[np.int32], sums: npt.NDArray[np.int64]) -> None:
        """Add the switch's sums; a vector that is wider than the plan goes in pieces."""
        plan, features = self.plan, messages.shape[1]
        values = np.zeros((plan.rows, features), np.int32)
        values[plan.upload_rows] = messages[plan.upload_messages]
        for start in range(0, features, plan.width):
            piece = slice(start, start + plan.width)
            brought = self._link.exchange(plan.index, np.ascontiguousarray(values[:, piece]))
            sums[plan.sum_vertices, piece] += brought[plan.sum_rows]


def require_values(
    worker: int, plans: Sequence[Plan], boundaries: Sequence[IntArray], plan_index: int, values: npt.NDArray[np.int32]
) -> None:
    """Refuse arguments that are not an exchange of a worker whose rows of each plan are ``boundaries``.

    Raises:
        OfframpError: no such plan, or an array of another shape or type.
    """
    if not 0 <= plan_index < len(plans):
        raise OfframpError(f"worker {worker}: plan {plan_index}: expected 0 to {len(plans) - 1}")
    most, n = plans[plan_index].width, len(boundaries[plan_index])
    if values.ndim != 2 or len(values) != n or not 0 < values.shape[1] <= most:
        raise OfframpError(
            f"worker {worker}: values: expected {n} rows of at most {most} features, got shape {values.shape}"
        )
    if values.dtype != np.int32:
        raise OfframpError(f"worker {worker}: values: expected int32, got {values.dtype}")
