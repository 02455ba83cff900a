# SPDX-License-Identifier: Apache-2.0
"""A request of LEO over an FPGA at the responder, each side by itself: from the call to the reply.

Requester and responder take turns in one thread, over shared memory; the card is its model. Now and then a round also
looks for slow events, such as a new requester or a silent path. So the shortest of several walks is the request's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leo_lab import serve_while
from offramp.leo import Context, Dataflow, RequesterSettings, Table, Trip
from offramp.leo.functions import reduce
from walk import walk

if TYPE_CHECKING:
    from offramp.leo.runtime.responder import Responder
    from walk import Walk

TYPE, CARD = "SUM", "fpga"
STRIDE_BYTES = 256
ATTEMPTS = 9


def walks() -> dict[str, Walk]:
    """The requester's walk and the responder's."""
    table = Table.disjoint([[10_000]], [[10_000]], types=(TYPE,), paths=(CARD,))
    program = Dataflow(table, (((Trip(reduce.NAME, remote=CARD),),),))
    numbers = np.arange(16, dtype=np.float32).reshape(2, 8)
    message = reduce.request(reduce.ElementType.FLOAT32, numbers)
    responder, requester = Context(), Context()
    try:
        served = responder.serve(devices={CARD: "fpga-model:"})
        settings = RequesterSettings(stride=STRIDE_BYTES)
        serve_while(served, lambda: requester.init(program, [served.listener.address], settings=settings))
        sides = [_walked(requester, served, message, numbers.sum(axis=0)) for _ in range(ATTEMPTS)]
    finally:
        requester.close()
        responder.close()
    by_requester, by_responder = (min(side, key=lambda each: each.calls) for side in zip(*sides, strict=True))
    return {"requester": by_requester, "responder": by_responder}


def _walked(
    requester: Context, served: Responder, message: bytes, expected: np.ndarray[tuple[int], np.dtype[np.float32]]
) -> tuple[Walk, Walk]:
    """Both sides' walks of one request; its answer is the expected one."""

    def serve() -> None:
        before = served.served
        while served.served == before or served.busy:
            served.step()

    def receive() -> None:
        reply = requester.recv(timeout_s=10)
        assert reply is not None
        assert reply.path == CARD
        np.testing.assert_array_equal(np.frombuffer(reply.message, np.float32), expected)

    asked = walk(lambda: requester.send(message, TYPE))
    answered = walk(serve)
    asked.steps += walk(receive).steps
    return asked, answered
