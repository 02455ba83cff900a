# SPDX-License-Identifier: Apache-2.0
"""A worker's end of its link to a switch: frames built here, or by the agent of a smartNIC."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from offramp.switch_packets import host_mac
from offramp.switchgnn.compiled_endpoint import CompiledSwitchGnnEndpoint
from offramp.switchgnn.compiled_worker import CompiledWorker
from offramp.switchgnn.endpoint import SwitchGnnEndpoint
from offramp.switchgnn.rate import RateControl
from offramp.switchgnn.worker import Worker
from offramp.switchgnn.worker_library import available
from offramp_base.transport import TRANSPORTS, FrameIO, open_io, parse_link
from offramp_base.transport.addressed import Addressed
from offramp_base.transport.faulty import FaultRates, Faulty
from offramp_base.transport.links import NIC, io_opener
from offramp_base.transport.shm.io import ShmIO
from offramp_base.transport.unix import UnixIO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import ExitStack

    from offramp.switchgnn.nic_worker import NicWorker
    from offramp.switchgnn.plan import Plan
    from offramp.switchgnn.recovery import Recovery

    AnyWorker = Worker | CompiledWorker | NicWorker


def prepare(link: str) -> None:
    """Import what a worker with such a link needs, and compile it where that was never done: memory of no exchange."""
    if link.startswith(f"{NIC}:"):
        import offramp.switchgnn.nic_worker  # noqa: F401
    else:
        io_opener(link)
        available()


def open_worker(
    rank: int,
    plans: Sequence[Plan],
    link: str,
    stack: ExitStack,
    timeout_s: float,
    *,
    window: int = 256,
    gap_s: float = 0.0,
    recovery: Recovery | None = None,
    racks: Sequence[int] = (),
    faults: FaultRates | None = None,
    seed: int = 0,
) -> AnyWorker:
    """Open the worker ``rank``; ``stack`` closes it.

    Its protocol is machine code if a compiler is available; on Unix sockets and in shared memory its link, too.

    Args:
        rank: rank of the worker.
        plans: the switch's plans, in the same order for every worker.
        link: an argument of :func:`offramp_base.transport.open_io`, or ``nic:`` and the agent's socket and port.
        stack: exit stack of the caller.
        timeout_s: seconds without anything new after which an exchange fails.
        window: frames sent before the link is read again.
        gap_s: pause after each window.
        recovery: settings for the recovery from loss.
        racks: leaf of each worker; empty if there is a single switch.
        faults: faults injected into the link, both ways.
        seed: seed of the faults.

    Raises:
        OfframpError: the link cannot be opened.
    """
    faults = faults or FaultRates()
    options: dict[str, Any] = {"window": window, "recovery": recovery, "racks": racks}
    if link.startswith(f"{NIC}:"):
        from offramp.switchgnn.nic_worker import NicWorker

        agent = NicWorker(rank, plans, link, timeout_s, **options, gap_s=gap_s, faults=faults, seed=seed)
        return stack.enter_context(closing(agent))
    plain = stack.enter_context(closing(open_io(link)))
    if isinstance(plain, UnixIO | ShmIO) and faults == FaultRates() and gap_s == 0 and available():
        return stack.enter_context(closing(CompiledWorker(rank, plans, plain, timeout_s, **options)))
    io: FrameIO = Faulty(plain, seed=seed, sending=faults, receiving=faults) if faults != FaultRates() else plain
    if TRANSPORTS[parse_link(link).transport].on_interface:
        io = Addressed(io, host_mac(rank))
    engine = CompiledSwitchGnnEndpoint if available() else SwitchGnnEndpoint
    return Worker(rank, plans, io, timeout_s, **options, gap_s=gap_s, rate=RateControl(), engine=engine)
