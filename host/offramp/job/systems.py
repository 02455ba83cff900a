# SPDX-License-Identifier: Apache-2.0
"""The systems that programs of switches carry, and how a job leaves each; a shared program has several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from offramp.allreduce.control import AllReduceControl
from offramp.hermod.switch.control import HermodControl
from offramp.hermod.switch.entries import CLASSES
from offramp.switchgnn import guard
from offramp.switchgnn.control import SwitchGnnControl
from offramp_base.errors import OfframpError
from offramp_base.p4rt.session import Session

SWITCHGNN: Final = "SwitchGNN"
HERMOD: Final = "Hermod"


def all_reduce(session: Session) -> AllReduceControl | None:
    """All-reduce on a switch; None where its program has none."""
    try:
        return AllReduceControl(session)
    except OfframpError:
        return None


def has_switchgnn(session: Session) -> bool:
    """Whether a switch's program carries SwitchGNN, by the names of its tables."""
    return guard.TABLE in session.index.tables


def has_hermod(session: Session) -> bool:
    """Whether a switch's program carries Hermod's classes."""
    return CLASSES in session.index.tables


def release(session: Session, number: int, holders: Mapping[str, int]) -> dict[str, int]:
    """Take a job out of every system of the running program; a switch that was started anew has nothing of its.

    Args:
        session: with the switch.
        number: the job's.
        holders: jobs that have a system for themselves.

    Returns:
        those that have one then.

    Raises:
        OfframpError: the switch refuses, or does not answer.
    """
    control = all_reduce(session)
    if control is not None:
        control.release(number)
    for system in [name for name, holder in holders.items() if holder == number]:
        _CLEAR[system](session)
    return {name: holder for name, holder in holders.items() if holder != number}


def _clear_switchgnn(session: Session) -> None:
    if has_switchgnn(session):
        SwitchGnnControl(session).clear()


def _clear_hermod(session: Session) -> None:
    if has_hermod(session):
        control = HermodControl(session, forwarding=False)
        control.write({}, control.read())


_CLEAR: Final[Mapping[str, Callable[[Session], None]]] = {SWITCHGNN: _clear_switchgnn, HERMOD: _clear_hermod}
