# SPDX-License-Identifier: Apache-2.0
"""Injected faults: frames lost on links, ports that a receiver pauses."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Pause:
    """Time during which the switch may not send to a NIC, as with PFC: ``seconds`` from ``start_s`` on (None: forever).

    Raises:
        OfframpError: a negative number.
    """

    nic: int
    start_s: float
    seconds: float | None

    def __post_init__(self) -> None:
        if self.nic < 0 or self.start_s < 0 or (self.seconds is not None and self.seconds < 0):
            raise OfframpError(f"pause {self}: expected a NIC, a start and a length, none of them negative")

    @property
    def end_s(self) -> float | None:
        """End of the pause in seconds."""
        return None if self.seconds is None else self.start_s + self.seconds

    def __str__(self) -> str:
        length = "forever" if self.seconds is None else f"for {self.seconds:g} s"
        return f"NIC {self.nic} from {self.start_s:g} s {length}"


@dataclass(frozen=True, slots=True)
class RunFaults:
    """Faults of one run.

    Attributes:
        loss: probability that a link loses a frame.
        pauses: pauses of the switch's ports.

    Raises:
        OfframpError: a probability outside 0 to 1.
    """

    loss: float = 0.0
    pauses: tuple[Pause, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.loss <= 1:
            raise OfframpError(f"loss {self.loss:g}: expected a probability, 0 to 1")


def parse_pause(text: str) -> Pause:
    """Parse ``NIC@START+SECONDS``, or ``NIC@START`` for a pause without end.

    Raises:
        OfframpError: something else.
    """
    nic, _, rest = text.partition("@")
    start, plus, seconds = rest.partition("+")
    try:
        return Pause(int(nic), float(start), float(seconds) if plus else None)
    except ValueError:
        raise OfframpError(f"pause {text}: expected NIC@START or NIC@START+SECONDS, in seconds") from None
