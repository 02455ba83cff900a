# SPDX-License-Identifier: Apache-2.0
"""The offloads of a group that its ranks have opened together."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from typing import TYPE_CHECKING

from offramp.torch.agreement import settle
from offramp.torch.offload import Gloo
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.torch.offload import Offload
    from offramp.torch.place import OffloadGroup

_log = logging.getLogger("offramp.torch")


class Openings:
    """What each offload's opening has come to; a problem of one rank is everybody's.

    Args:
        place: the group.
        early: offloads that are opened with the group. They carry messages, which two ranks begin without the others.
    """

    def __init__(self, place: OffloadGroup, early: list[Offload]) -> None:
        self._place = place
        self._problems: dict[Offload, Future[str]] = {offload: Future() for offload in early}

    def open(self, offload: Offload) -> str:
        """Open an offload on all ranks, which call this in the same order.

        Returns:
            why it cannot be used, the same on every rank, or an empty text.
        """
        if isinstance(offload, Gloo):
            return ""
        future = self._problems.setdefault(offload, Future())
        if not future.done():
            try:
                future.set_result(self._opened(offload))
            except BaseException as error:
                future.set_exception(error)
        return future.result()

    def problem(self, offload: Offload) -> str:
        """What :meth:`open` returns in another thread, once it has.

        Raises:
            OfframpError: it has not by the group's timeout.
        """
        future = self._problems.get(offload)
        if future is None:  # gloo, which needs no opening
            return ""
        try:
            return future.result(self._place.timeout.total_seconds())
        except TimeoutError:
            raise OfframpError("ranks have not connected in time") from None

    def close(self) -> None:
        """Release all offloads, in the order in which they were opened."""
        for offload, future in self._problems.items():
            if not future.done():
                continue
            try:
                offload.close()
            except Exception as error:
                _log.warning("offload %s: %s", offload.name, error)
        self._problems.clear()

    def _opened(self, offload: Offload) -> str:
        fault = ""
        try:
            offload.open(self._place)
        except Exception as error:
            fault = str(error) or type(error).__name__
        problem = settle(self._place.control, fault)
        if problem:
            _log.warning("group %s goes on without offload %s: %s", self._place.name, offload.name, problem)
        return problem
