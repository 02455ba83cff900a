# SPDX-License-Identifier: Apache-2.0
"""Offloads whose switch is not there: named when a group is created, in the same line by every rank, once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from offramp.torch.offload import Offload
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.torch.place import OffloadGroup

_FINE: Final = "ok"
_log = logging.getLogger("offramp.torch")
_reported: set[str] = set()
"""Lines that this process has printed: those of further groups are the same."""


def answering(place: OffloadGroup, offloads: Sequence[tuple[str, Offload]]) -> list[tuple[str, Offload]]:
    """The offloads that the group can use; the first rank checks, and the others read what it saw from the store.

    Args:
        place: the group; every rank calls this.
        offloads: word of the groups that use it, and offload.
    """
    if place.size < 2:  # has nothing to exchange
        return list(offloads)
    return [(word, offload) for number, (word, offload) in enumerate(offloads) if _answers(place, number, offload)]


def _answers(place: OffloadGroup, number: int, offload: Offload) -> bool:
    if type(offload).expect is Offload.expect:  # nothing to check: no rank waits for the first
        return True
    key = f"offramp/expected/{number}"
    if place.rank == 0:
        place.store.set(key, _problem(offload) or _FINE)
    problem = bytes(place.store.get(key)).decode(errors="replace")
    if problem == _FINE:
        return True
    line = f"gloo carries out what offload {offload.name} would: {problem}"
    if line not in _reported:
        _reported.add(line)
        _log.warning("%s", line)
    return False


def _problem(offload: Offload) -> str:
    try:
        offload.expect()
    except OfframpError as error:
        return str(error)
    return ""
