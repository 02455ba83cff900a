# SPDX-License-Identifier: Apache-2.0
"""A plan on a P4 switch that runs ``p4/hermod``, over P4Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from offramp.hermod.deploy.limits import LineLimits, burst_bytes
from offramp.hermod.deploy.target import Difference, in_use, require_equal
from offramp.hermod.queues import QueuePlan
from offramp.hermod.switch.control import HermodControl
from offramp.hermod.switch.entries import CLASSES, MeterRate, SwitchPlan, ThresholdProfile, state_for
from offramp_base.p4rt.session import Session
from offramp_base.p4rt.state import GROUP, Key, State, Value


def switch_plan(
    plan: QueuePlan,
    ports: Sequence[int] = (),
    hosts: Mapping[int, int] | None = None,
    *,
    mtu: int = 1500,
    drops: bool = False,
    members: Sequence[int] | None = None,
    limits: LineLimits | None = None,
) -> SwitchPlan:
    """The plan as a switch that runs ``p4/hermod`` takes it.

    Args:
        plan: queues, and thresholds in bytes.
        ports: all ports of the switch; hosts that are not listed are reached by flooding. None: forwarding is left
            as it is.
        hosts: ports of MAC addresses.
        mtu: bytes of a packet, since the switch counts packets; at least one packet.
        drops: whether packets that cannot be marked are dropped above the threshold.
        members: the job's ports; what comes in by others is best effort. None: every port is the job's.
        limits: what a port of the job may send in a class; None: as much as it likes.

    Raises:
        OfframpError: a port that the switch does not have.
    """
    profiles = {queue: ThresholdProfile(max(size // mtu, 1), drops) for queue, size in plan.ecn_bytes.items()}
    police = {} if limits is None else {queue: _rate(bps, mtu) for queue, bps in limits.of_queues(plan).items()}
    upper = None if limits is None or limits.upper_bps is None else _rate(limits.upper_bps, mtu)
    return SwitchPlan(
        plan.queues,
        plan.other,
        plan.urgent,
        profiles,
        dict(hosts or {}),
        tuple(ports),
        members=None if members is None else tuple(members),
        police=police,
        upper=upper,
    )


def _rate(bps: int, mtu: int) -> MeterRate:
    return MeterRate(max(bps // 8, 1), burst_bytes(bps, mtu))


def rendered(plan: SwitchPlan) -> str:
    """The entries of a plan, without a switch."""
    return _rendered(state_for(plan, ()))


class P4Target:
    """A switch at the other end of a session."""

    def __init__(self, session: Session, plan: SwitchPlan) -> None:
        self._control = HermodControl(session, forwarding=bool(plan.ports))
        self._wanted = self._control.wanted(plan)
        self.name = f"switch {session.name}"

    def rendered(self) -> str:
        """One line for each entry."""
        return _rendered(self._wanted)

    def deployed(self) -> dict[str, Any]:
        """The entries that are there."""
        return {_name(key): _text(value) for key, value in _held(self._control.read()).items()}

    def differences(self) -> list[Difference]:
        """Differences between switch and plan, entry by entry."""
        return _differences(self._wanted, self._control.read())

    def apply(self, *, replace: bool = False) -> bool:
        """Write the plan in one batch and read it back; whether anything changed."""
        before = self._control.read()
        if before == self._wanted:
            return False
        if _held(before) and not replace:
            others = [d for d in _differences(self._wanted, before) if d.found is not None]
            if others:
                raise in_use(self.name, [d for d in others if d.what.startswith("DSCP")] or others)
        self._control.write(self._wanted, before)
        try:
            require_equal(self)
        except BaseException as error:
            self._control.restore(before, error)
            raise
        return True

    def undo(self) -> bool:
        """An empty switch: no entries, the program's own default actions."""
        before = self._control.read()
        self._control.write({}, before)
        return bool(_held(before))


def _held(state: State) -> State:
    """The state without default actions, which an empty switch has too."""
    return {key: value for key, value in state.items() if key[1]}


def _differences(wanted: State, present: State) -> list[Difference]:
    keys = [*wanted, *(key for key in present if key not in wanted)]
    pairs = ((key, wanted.get(key), present.get(key)) for key in keys)
    return [
        Difference(_name(key), None if planned is None else _text(planned), None if there is None else _text(there))
        for key, planned, there in pairs
        if planned != there
    ]


def _name(key: Key) -> str:
    table, keys = key
    if table == GROUP:
        return f"{GROUP} {keys[0][1]}"
    if table.endswith(CLASSES):
        given = dict(keys)
        return "other DSCPs" if not keys else f"DSCP {given['dscp']}" if given["is_ip"] else "frames without DSCP"
    inside = ", ".join(f"{name} {value:012x}" if name == "dst_addr" else f"{name} {value}" for name, value in keys)
    return f"{table}({inside or 'default'})"


def _text(value: Value) -> str:
    action, params = value
    return f"{action.rpartition('.')[2]}({', '.join(f'{name} {number}' for name, number in params)})"


def _rendered(state: State) -> str:
    return "\n".join(f"{_name(key)} -> {_text(value)}" for key, value in state.items())
