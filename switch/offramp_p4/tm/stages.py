# SPDX-License-Identifier: Apache-2.0
"""The halves of a pipeline on the Python engine, for a traffic manager to join."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

Emit = Callable[[tuple[int, bytes]], object]
Deliver = Callable[[Any, int, Emit], object]
"""Takes a copy that is bound for a port, the port, and where its frame goes."""


class SwitchStages(Protocol):
    """Ingress and egress, apart, and what a queue does to a copy between them.

    Attributes:
        again: arrivals, each with a ``frame``, that resubmission or recirculation has made; the caller takes them out.
        max_passes: max passes of a packet and its copies together.
    """

    again: deque[Any]
    max_passes: int

    def arrival(self, port: int, frame: bytes) -> Any:
        """A packet from outside at the entry of the parser."""

    def ingress(self, arrival: Any) -> None:
        """Parser and ingress; every copy goes where the pipeline was told when it was split."""

    def egress(self, copy: Any, port: int, emit: Emit) -> None:
        """Egress and deparser of a copy."""

    def recirculated(self, arrival: Any) -> bool:
        """Whether the packet comes back from egress; else it was resubmitted and never left ingress."""

    def queue(self, copy: Any) -> int:
        """The queue that a copy asks for."""

    def frame_bytes(self, copy: Any) -> int:
        """Size of a copy between ingress and egress."""

    def enters_queue(self, copy: Any, now_us: int, depth: int, depth_bytes: int) -> None:
        """Tell a copy when it was enqueued, and how many packets and bytes it found."""

    def leaves_queue(self, copy: Any, waited_us: int, depth: int, depth_bytes: int) -> None:
        """Tell a copy how long it waited, and how many packets and bytes it leaves behind."""


def no_output(_: tuple[int, bytes]) -> None:
    """The output of ingress, from which no frame leaves."""
    raise AssertionError("nothing leaves before egress")
