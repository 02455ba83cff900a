# SPDX-License-Identifier: Apache-2.0
"""A thread that starts a group's offloaded collectives, or its messages, in the order of the program's calls."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from offramp.torch import on_gloo
from offramp.torch.agreement import POINT_TO_POINT, compare, described
from offramp.torch.forms import start
from offramp.torch.offload import DeclinedError, Gloo
from offramp.torch.staging import staged
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from offramp.torch.offload import CollectiveCall, Offload
    from offramp.torch.openings import Openings
    from offramp.torch.place import OffloadGroup


class Lane:
    """Runs collectives by offloads, after all ranks have agreed on them; or messages, which wait for no collective.

    All ranks open an offload together when it is first used. If one of them cannot, or declines a collective, gloo runs
    it, on a separate group of the lane so that the program's order is unaffected.
    """

    def __init__(
        self, place: OffloadGroup, openings: Openings, rename: Callable[[int, str], None], *, agreed: bool
    ) -> None:
        """Start the thread of a group.

        Args:
            place: the group.
            openings: opened by the lane of collectives; that of messages waits for it.
            rename: records, by a record's id, who runs the collective in the end.
            agreed: whether collectives have been compared already.
        """
        self._place, self._openings, self._rename, self._agreed = place, openings, rename, agreed
        self._calls: queue.SimpleQueue[tuple[Callable[[], None], Callable[[BaseException], str], Any] | None] = (
            queue.SimpleQueue()
        )
        self._moving: list[Future[None]] = []
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name=f"offramp {place.name}", daemon=True)
        self._thread.start()

    def put(self, offload: Offload, call: CollectiveCall, work: Any) -> None:
        """Queue a collective behind those before it; ``work.complete`` is called when it is over."""
        self._calls.put(
            (lambda: self._carry_out(offload, call, work), lambda error: self._line(offload, call, error), work)
        )

    def put_opening(self, offload: Offload) -> None:
        """Queue the opening of an offload, which all ranks do."""

        def open_() -> None:
            self._openings.open(offload)

        self._calls.put((open_, str, None))

    def put_barrier(self, work: Any) -> None:
        """Queue a barrier: it begins once the collectives before it are over, also those that fail.

        Gloo's own barrier fails at once on ranks where a collective that fails is not over yet, and waits for them on
        others.
        """

        def meet() -> None:
            for each in work.before:
                with suppress(RuntimeError):
                    each.get_future().wait()
            wait(self._moving, self._place.timeout.total_seconds())
            self._place.control.barrier().wait()
            work.complete("")

        self._calls.put((meet, lambda error: self._text("barrier", work.about.number, Gloo.name, error), work))

    def close(self, timeout_s: float, *, drain: bool) -> None:
        """End the thread, after finishing (``drain``) or failing what waits."""
        self._closing = not drain
        self._calls.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)
        self._closing = True

    def _serve(self) -> None:
        while (task := self._calls.get()) is not None:
            carry_out, line, work = task
            if self._closing:
                if work is not None:
                    work.complete("aborted")
                continue
            try:
                carry_out()
            except BaseException as error:
                if work is not None:
                    work.complete(line(error))

    def _carry_out(self, offload: Offload, call: CollectiveCall, work: Any) -> None:
        request = call.request
        together = request.kind not in POINT_TO_POINT
        if not self._agreed and together:
            shape = (call.inputs or call.outputs)[0].shape
            dtype = str(request.dtype).removeprefix("torch.")
            compare(
                self._place.control,
                call.number,
                described(request.kind, request.form, dtype, shape, request.reduce, call.peer),
            )
        problem = self._openings.open(offload) if together else self._openings.problem(offload)
        here, bring_back = staged(call)
        moving = None if problem or isinstance(offload, Gloo) else self._started(offload, here)
        if moving is None:
            self._rename(work.about.id, Gloo.name)
            moving = on_gloo.start(self._place.control, here)

        def end(done: Future[None]) -> None:
            error = done.exception()
            if error is None:
                bring_back()
            work.complete("" if error is None else self._line(offload, call, error))
            over.set_result(None)

        over: Future[None] = Future()
        if together:
            self._moving = [each for each in self._moving if not each.done()] + [over]
        moving.add_done_callback(end)

    def _started(self, offload: Offload, call: CollectiveCall) -> Future[None] | None:
        try:
            return start(offload, call, self._place.size)
        except DeclinedError:
            return None

    def _line(self, offload: Offload, call: CollectiveCall, error: BaseException) -> str:
        return self._text(call.request.kind, call.number, offload.name, error)

    def _text(self, kind: str, number: int, by: str, error: BaseException) -> str:
        what = f"{kind} {number} by {by} on rank {self._place.rank}"
        text = str(error) if isinstance(error, OfframpError) else f"{type(error).__name__}: {error}"
        return f"{what}: {' '.join(text.split())}"
