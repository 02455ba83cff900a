# SPDX-License-Identifier: Apache-2.0
"""The dispatcher of a group: it chooses the offload for a collective, and explains failures."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch
import torch.distributed as dist

from offramp.torch.agreement import POINT_TO_POINT, UNEVEN, compare
from offramp.torch.diagnosis import diagnose, said
from offramp.torch.expectation import answering
from offramp.torch.forms import KINDS
from offramp.torch.history import write_dump
from offramp.torch.lane import Lane
from offramp.torch.offload import CollectiveCall, CollectiveRequest, Gloo, Offload, offloads_of
from offramp.torch.openings import Openings
from offramp.torch.priorities import Positions
from offramp.torch.settings import NetworkSettings
from offramp.torch.staging import wait_for_device
from offramp.torch.types import DTYPES
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.torch.place import OffloadGroup

_log = logging.getLogger("offramp.torch")

CLOSE_S: Final = 10.0
ABORTED: Final = "aborted"
every: weakref.WeakSet[BackendDispatcher] = weakref.WeakSet()
"""Dispatchers of all groups of this process."""


class BackendDispatcher:
    """The Python side of a group's backend.

    Args:
        place: the group.
        settings: settings of the network; None: gloo runs everything.
        wrap: makes the backend of a subset of the ranks (:func:`offramp.torch.create.wrapped`).
    """

    def __init__(
        self, place: OffloadGroup, settings: NetworkSettings | None, wrap: Callable[..., Any] | None = None
    ) -> None:
        self._wrap = wrap
        self.place, self.settings = place, settings
        self.recorder: Any = None
        self.desc = ""
        self._offloads: list[tuple[str, Offload]] = answering(place, offloads_of(settings)) if settings else []
        self._gloo = Gloo(settings or NetworkSettings())
        self._verify = settings is not None and settings.verify
        self._positions = Positions(settings)
        self._early = [o for _, o in self._offloads if set(o.kinds) & set(POINT_TO_POINT)]
        self._openings = Openings(place, self._early)
        self._lanes: dict[bool, Lane] = {}
        """The thread of collectives, and by True that of messages."""
        self._ordered = False
        every.add(self)

    def least(self, kind: str) -> int | None:
        """Bytes from which on a collective should be passed to :meth:`take`; None: never."""
        if self._verify and kind not in POINT_TO_POINT:
            return 0
        if kind == "barrier":
            return 0 if self._offloads else None
        if self.settings is None or kind not in KINDS or not any(kind in o.kinds for _, o in self._offloads):
            return None
        return 0 if kind in UNEVEN else self.settings.least

    def take(self, work: Any) -> str:
        """Start a collective by an offload and return its name, or leave it to gloo: an empty name.

        Raises:
            DistBackendError: ranks differ, if every collective is compared.
        """
        about, given = work.about, (list(work.outputs), list(work.inputs))
        tensors = [*given[1], *given[0]]
        self.desc = work.group
        if self._verify and about.kind not in POINT_TO_POINT:
            self._compare(about)
        if about.kind == "barrier":
            return self._barrier(work)
        if not tensors:
            return ""
        dtype = DTYPES.get(about.dtype)
        if dtype is None:
            return ""
        size, backward = self.place.size, torch._C._current_graph_task_id() >= 0
        request = CollectiveRequest(
            about.kind, about.form, dtype, about.reduce, about.bytes, work.group, size, backward
        )
        offload = self._choose(request)
        if offload is None and tensors[0].is_cuda:
            offload = self._gloo
        if offload is None:
            return ""
        wait_for_device(tensors)
        position, factors = self._positions.of(request)
        splits = work.output_splits, work.input_splits
        plain = {id(t): t.detach() for t in tensors}  # results go to leaves that require gradients, too
        outputs, inputs = ([plain[id(t)] for t in each] for each in given)
        call = CollectiveCall(
            request, about.number, outputs, inputs, *splits, about.peer, position, factors, work.received_from
        )
        self.recorder.route(about.id, offload.name)
        self._ordered = self._ordered or about.kind not in POINT_TO_POINT
        self._lane(messages=about.kind in POINT_TO_POINT).put(offload, call, work)
        return offload.name

    def prepare(self) -> None:
        """Begin to open the offloads that carry messages, now that all ranks are here: two use them without others."""
        for offload in self._early:
            self._lane().put_opening(offload)

    def _lane(self, *, messages: bool = False) -> Lane:
        """The thread of collectives, or of messages, which a rank may need before others begin a collective."""
        if messages not in self._lanes:
            self._lanes[messages] = Lane(self.place, self._openings, self.recorder.route, agreed=self._verify)
        return self._lanes[messages]

    def _barrier(self, work: Any) -> str:
        """Queue a barrier behind the collectives, or leave it to gloo while none has been offloaded."""
        if not self._ordered:
            return ""
        self._lane().put_barrier(work)
        return Gloo.name

    def _compare(self, about: Any) -> None:
        try:
            compare(self.place.comparing, about.number, said(about))
        except OfframpError as error:
            line = f"{about.kind} {about.number} on rank {self.place.rank} of group {self.place.name}: {error}"
            raise dist.DistBackendError(line) from None

    def _choose(self, request: CollectiveRequest) -> Offload | None:
        if self.settings is None or request.bytes < (self.least(request.kind) or 0):
            return None
        return next((o for word, o in self._offloads if word in request.group and o.takes(request)), None)

    def explain(self, number: int, what: str) -> str:
        """Explanation of a failed collective, given its id in the record; writes a dump."""
        records = self.recorder.entries()
        record = next((r for r in records if r.id == number), None)
        if record is None or what == ABORTED:
            return what
        done = [r.number for r in records if r.seconds >= 0 and not r.error and r.kind not in POINT_TO_POINT]
        line = diagnose(self.place, record, what, max(done, default=0))
        self.dump(line)
        return line

    def dump(self, reason: str, stack: Sequence[str] = ()) -> None:
        """Write the latest collectives if the settings name a folder; a file that cannot be written is reported."""
        if self.settings is not None and self.settings.dump is not None:
            try:
                write_dump(self.settings.dump, self, reason, stack)
            except OfframpError as error:
                _log.warning("%s", error)

    def split(self, store: Any, inner: Any, cuda: Any, name: str) -> Any:
        """The backend of a subset of this group's ranks."""
        assert self._wrap is not None
        ranks = [self.place.ranks[r] for r in inner.options.global_ranks_in_group] or list(range(inner.size()))
        return self._wrap(inner, cuda, store, ranks, name, self.place.timeout, self.settings)

    def abort(self) -> None:
        """Abort whatever waits, at once."""
        self.dump("aborted")
        self.place.abort()
        self._close(drain=False)

    def shutdown(self) -> None:
        """End the thread and the offloads once they have finished what they began."""
        self._close(drain=True)

    def _close(self, *, drain: bool) -> None:
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            lane.close(CLOSE_S if drain else 0.0, drain=drain)
        self._openings.close()
        self.place.close()
        every.discard(self)
