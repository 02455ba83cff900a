# SPDX-License-Identifier: Apache-2.0
"""Explains why a run with faults cannot proceed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from offramp.hermod.dag import Coflow
from offramp_base.errors import OfframpError
from offramp_p4.tm.line import PS_PER_S
from offramp_sim.hermod.faults import RunFaults
from offramp_sim.hermod.flows import HermodFlow
from offramp_sim.hermod.host import CoflowHost
from offramp_sim.hermod.progress import TaskProgress
from offramp_sim.net.network import PacketNetwork

_PATIENCE: Final = 8
"""Retransmissions of a flow, with growing timeouts, while nothing arrives anywhere."""


class Watchdog:
    """Is told of each retransmission after a timeout."""

    def __init__(
        self,
        network: PacketNetwork,
        hosts: Sequence[CoflowHost],
        flows: Sequence[HermodFlow],
        progress: TaskProgress,
        faults: RunFaults,
    ) -> None:
        self._network, self._hosts, self._flows = network, hosts, flows
        self._progress, self._faults = progress, faults
        self._heard: dict[int, tuple[int, int]] = {}
        self._last_fault_s = max((p.end_s for p in faults.pauses if p.end_s is not None), default=0.0)

    def silent(self, flow: HermodFlow) -> None:
        """Note that a flow has heard nothing for its timeout.

        Raises:
            OfframpError: no flow has heard anything for many timeouts, and there is nothing to wait for.
        """
        arrived = sum(host.taken for host in self._hosts)
        before, times = self._heard.get(flow.pair, (-1, 0))
        times = times + 1 if before == arrived else 0
        self._heard[flow.pair] = arrived, times
        now_s = self._network.now_ps / PS_PER_S
        if times >= _PATIENCE and not self._progress.computing and now_s > self._last_fault_s:
            raise OfframpError(self._reason(now_s))

    def _reason(self, now_s: float) -> str:
        missing = [flow for flow in self._flows if flow.submitted and not flow.receiver.complete]
        first = missing[0]
        coflow = self._progress.task(first)
        assert isinstance(coflow, Coflow)
        what = f"{coflow.ctype.name} {coflow.role} of microbatch {coflow.factors.mid}, layer {coflow.factors.lid}"
        state = f"{first.receiver.received} of {first.sender.packets} packets"
        causes = [f"port paused: {pause}" for pause in self._faults.pauses if pause.end_s is None]
        causes += [f"links lose {self._faults.loss:.0%}"] if self._faults.loss else []
        return (
            f"packet level: stuck at {now_s:.4g} s with {len(missing)} active flows; {what} has {state} from NIC "
            f"{first.source} to {first.sink} after {_PATIENCE} repetitions ({'; '.join(causes) or 'no fault given'})"
        )
