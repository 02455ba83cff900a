# SPDX-License-Identifier: Apache-2.0
"""Demands of training on the network."""

from __future__ import annotations

from dataclasses import dataclass

from offramp.themis.network import Collective, Network
from offramp_base.errors import OfframpError


@dataclass(frozen=True, slots=True)
class Demand:
    """One collective.

    Attributes:
        collective: its kind.
        size: bytes: for an all-gather the gathered output, otherwise what each NPU holds before.
        dims: dimensions along which it runs; all by default.
        release_ps: time at which it is requested.

    Raises:
        OfframpError: a negative size or time.
    """

    collective: Collective
    size: int
    dims: tuple[int, ...] | None = None
    release_ps: int = 0

    def __post_init__(self) -> None:
        if self.size < 0 or self.release_ps < 0:
            raise OfframpError(f"{self.collective} of {self.size} bytes at {self.release_ps} ps: expected at least 0")

    def part(self, network: Network) -> Network:
        """The network from this collective's view."""
        return network if self.dims is None else network.part(self.dims)
