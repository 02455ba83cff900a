# SPDX-License-Identifier: Apache-2.0
"""The switch of a run from its control plane's view: load the plans before, read the counts after."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from offramp.p4src import p4_text
from offramp.switchgnn.control import SwitchGnnControl, sizes_for
from offramp.switchgnn.fingerprint import job_fingerprint
from offramp.switchgnn.stats import SwitchTotals
from offramp.switchgnn.target import TARGETS
from offramp_base.errors import OfframpError
from offramp_base.numerals import whole_number
from offramp_base.p4rt.session import Session
from offramp_base.settings.error import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

    from offramp.switchgnn.plan import Plan

PROGRAMS = {
    ("switch", "v1model"): "switchgnn/v1model.p4",
    ("switch", "v1model-replicated"): "switchgnn/replicated_v1model.p4",
    ("switch", "tna"): "switchgnn/tna.p4",
    ("strawman", "v1model"): "switchgnn/strawman_v1model.p4",
}
"""The P4 program behind each propagator that needs a switch, for each supported target."""


@dataclass(frozen=True)
class SwitchEndpoint:
    """Address and ports of a switch.

    Attributes:
        address: address of its P4Runtime server.
        ports: switch port number and host-side link of each worker, in rank order.
        compiled: P4Info and device configuration for a target that does not compile P4 itself (bmv2).
        loaded: fingerprint of the plans already loaded; empty: none.
    """

    address: str
    ports: Sequence[tuple[int, str]]
    compiled: tuple[Path, Path] | None = None
    loaded: str = ""


def expect_loaded(fingerprint: str, plans: Sequence[Plan]) -> None:
    """Refuse a switch that has other plans.

    Raises:
        SettingsError: names the field ``loaded``.
    """
    wanted = job_fingerprint(plans)
    if wanted != fingerprint:
        raise SettingsError("loaded", f"the run's plans have the fingerprint {wanted[:12]}", fingerprint[:12])


def parse_ports(text: str, workers: int) -> list[tuple[int, str]]:
    """Links of all workers from ``LINK,LINK,…`` or ``PORT@LINK,…``; ports count from 1 if not given.

    Raises:
        OfframpError: there is not one link for each worker, or a port is not a number.
    """
    links = []
    for position, part in enumerate(filter(None, text.split(",")), 1):
        number, at, link = part.rpartition("@")
        port = whole_number(number) if at else position
        if port is None:
            raise SettingsError("ports", "expected LINK or PORT@LINK with a port number", part)
        links.append((port, link))
    if len(links) != workers:
        raise SettingsError("ports", f"expected {workers} links, one for each worker, got {len(links)}")
    return links


class SwitchFabric:
    """One switch for consecutive runs; a context manager that holds the P4Runtime session."""

    def __init__(self, endpoint: SwitchEndpoint, propagator: str, target: str = "v1model") -> None:
        self.endpoint = endpoint
        self._program, self._target = PROGRAMS[propagator, target], TARGETS[target]
        self._propagator = propagator
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        session = Session(self.endpoint.address)
        # Who has loaded the switch may be its primary controller still, and counters are read without that.
        self._session = self._stack.enter_context(closing(session) if self.endpoint.loaded else session)
        self._control = SwitchGnnControl(self._session)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def links(self) -> list[str]:
        """The host-side end of every worker's link, an argument of :func:`offramp_base.transport.open_io`."""
        return [link for _, link in self.endpoint.ports]

    def load(self, plans: Sequence[Plan], aggregators: int, *, acks: bool = False) -> None:
        """Restart the program, with all its state zero, and write the plans; with ``acks``, also what serves ACKs.

        Raises:
            OfframpError: the switch does not answer, or refuses the program or a plan.
        """
        if self.endpoint.loaded:
            expect_loaded(self.endpoint.loaded, plans)
            return
        capacity = aggregators if self._propagator == "strawman" else None
        self._push(plans, capacity)
        self._control.load(plans, [port for port, _ in self.endpoint.ports], capacity=capacity, acks=acks)

    def totals(self) -> SwitchTotals:
        """Counts of the switch since :meth:`load`."""
        counters = self._control.counters()
        occupancy = self._control.occupancy()
        return SwitchTotals(
            passes=counters["passes"],
            recirculations=counters["recirculations"],
            aggregators_peak=occupancy and occupancy[1],
            overflows=counters["overflows"],
            strangers={f"port {port}": packets for port, packets in self._control.strangers().items()},
        )

    def _push(self, plans: Sequence[Plan], capacity: int | None) -> None:
        if self.endpoint.compiled is None:
            text = p4_text(self._program, sizes_for(plans, capacity, self._target))
            self._session.push(b"", text.encode())
            return
        try:
            info, config = (path.read_bytes() for path in self.endpoint.compiled)
        except OSError as error:
            raise OfframpError(f"{error.filename}: cannot be read: {error.strerror}") from None
        self._session.push(info, config)
