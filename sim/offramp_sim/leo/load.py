# SPDX-License-Identifier: Apache-2.0
"""Load on the queue model: types, keys, times between arrivals, times on the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from offramp_base.errors import OfframpError

Words = npt.NDArray[np.int64]
PS: Final = 1000
MOST_REQUESTS: Final = 10_000_000
_LONG: Final = 10.0


@dataclass(frozen=True, slots=True)
class RequestLoad:
    """Requests.

    Attributes:
        requests: how many.
        rate_mrps: rate of Poisson arrivals, million per second; None: closed loop.
        window: window of a closed loop, requests in flight.
        mix: share of each type; none: equal shares.
        keys: number of keys; 0: every request has its own.
        skew: Zipf exponent of the keys.
        network_us: shortest and longest time that a request and its answer spend on the network.
        spread: share of a step's time that is exponential, with the same mean; 0: as the table says.
        long: share of the requests that take ten times as long as the others, with the same mean overall.
        burst: requests that arrive together.
        shares: shares of the tenants' requests, by their number.
    """

    requests: int = 20000
    rate_mrps: float | None = None
    window: int = 64
    mix: Sequence[float] = ()
    keys: int = 0
    skew: float = 0.99
    network_us: tuple[float, float] = (3.0, 9.0)
    spread: float = 0.0
    long: float = 0.0
    burst: int = 1
    shares: Sequence[float] = (1.0,)

    def __post_init__(self) -> None:
        low, high = self.network_us
        for bad, what in (
            (not 1 <= self.requests <= MOST_REQUESTS, f"requests: {self.requests}: expected 1 to {MOST_REQUESTS}"),
            (self.rate_mrps is not None and not 0 < self.rate_mrps < 1e6, f"rate: {self.rate_mrps}: expected over 0"),
            (self.window < 1, f"window: {self.window}: expected at least 1"),
            (self.burst < 1, f"burst: {self.burst}: expected at least 1"),
            (not 0 <= self.spread <= 1, f"spread: {self.spread}: expected 0 to 1"),
            (not 0 <= self.long <= 1, f"long: {self.long}: expected 0 to 1"),
            (not 0 <= low <= high < 1e6, f"network: {low:g} to {high:g} us: expected a range from 0"),
            (self.keys < 0 or self.skew < 0, "keys and skew: expected 0 or more"),
            (
                any(share < 0 for share in self.mix) or (len(self.mix) > 0 and not sum(self.mix) > 0),
                "mix: expected shares",
            ),
            (not self.shares or min(self.shares) <= 0, "shares: expected one over 0 for each tenant"),
        ):
            if bad:
                raise OfframpError(what)


@dataclass(frozen=True, slots=True)
class DrawnRequests:
    """Requests drawn from a load; times in ps."""

    arrivals: Words
    kinds: Words
    keys: Words
    owners: Words
    networks: Words
    factors: Words


@lru_cache(maxsize=4)
def _zipf(keys: int, skew: float) -> npt.NDArray[np.float64]:
    """Cumulative probability of the keys."""
    weights = 1 / np.arange(1, keys + 1) ** skew
    total: npt.NDArray[np.float64] = np.cumsum(weights) / weights.sum()
    total[-1] = 1.0
    return total


def draw(load: RequestLoad, kinds: int, steps: int, seed: int, unit: int) -> DrawnRequests:
    """Draw everything random from one seed, so that every rule meets the same requests.

    Raises:
        OfframpError: the mix has another number of types.
    """
    if load.mix and len(load.mix) != kinds:
        raise OfframpError(f"mix: {len(load.mix)} shares, expected {kinds}, one for each request type")
    rng = np.random.default_rng(seed)
    n = load.requests
    arrivals = np.zeros(n)
    if load.rate_mrps is not None:
        gaps = rng.exponential(load.burst / load.rate_mrps * 1e6, -(-n // load.burst))
        arrivals = np.repeat(np.cumsum(gaps), load.burst)[:n]
    mix = np.asarray(load.mix or np.ones(kinds), np.float64)
    chosen = rng.choice(kinds, n, p=mix / mix.sum())
    keys = np.arange(n)
    if load.keys:
        keys = np.searchsorted(_zipf(load.keys, load.skew), rng.random(n), side="right")
    shares = np.asarray(load.shares, np.float64)
    owners = rng.choice(len(shares), n, p=shares / shares.sum())
    networks = rng.uniform(*load.network_us, n) * 1e6
    factors = np.full((n, steps), unit)
    if load.spread:
        drawn = (1 - load.spread) + load.spread * rng.exponential(1, (n, steps))
        factors = np.rint(np.minimum(drawn, 64) * unit).astype(np.int64)
    if load.long:
        long = np.where(rng.random((n, 1)) < load.long, _LONG, 1.0) / (1 + (_LONG - 1) * load.long)
        factors = np.rint(factors * long).astype(np.int64)
    words = (arrivals, chosen, keys, owners, networks, factors)
    return DrawnRequests(*(np.ascontiguousarray(np.rint(w), np.int64) for w in words))
