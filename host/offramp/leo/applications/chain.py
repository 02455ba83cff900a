# SPDX-License-Identifier: Apache-2.0
"""A store whose look-ups are split: names to objects on the requester's card, objects to places on the responder's NIC.

A request is a name of 8 bytes. The requester's accelerator finds which object it is (``kvs.lookup``), the responder's
smartNIC where the object lies in that host's memory (``kvs.lookup`` as well), and a one-sided read fetches its 64
bytes. With the transport ``nic`` all bytes between the hosts are carried by agents, over whatever switches join them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from offramp.device import Device, Status
from offramp.leo.applications.application import Application
from offramp.leo.applications.kvs_store import VALUE_BYTES, fill, keys_of, memory_bytes, values_of
from offramp.leo.applications.times import ApplicationTimes, table
from offramp.leo.devices import open_device
from offramp.leo.functions import kvs
from offramp.leo.native import functions as at
from offramp.leo.native.batch import Completions, RequestBatch
from offramp.leo.native.dataflow import Dataflow, Trip
from offramp.leo.runtime.process import ResponderPlan
from offramp.leo.runtime.requester import RequesterSettings
from offramp.leo.selection import RequestDependency

CARD: Final = "fpga"
NIC: Final = "nic"
_PATH: Final = "chain"
_TRACE: Final = 1 << 14
_NAMES: Final = 0x5EED
"""Offset of the seed for names; objects' names are drawn like keys of the store."""


def application(card: str, nic: str, *, keys: int = 1000, seed: int = 1, timeout_s: float = 60.0) -> Application:
    """The store over a card at the requester and an agent at the responder.

    Args:
        card: specification of the requester's card, as for ``--device``.
        nic: specification of the responder's agent.
        keys: number of objects.
        seed: seed of names and objects.
        timeout_s: seconds that a request may take; RTL in simulation is slow.
    """
    names, objects = keys_of(keys, seed + _NAMES), keys_of(keys, seed)
    trips = (
        Trip(kvs.NAME, remote=NIC, local=CARD, local_function=kvs.NAME, length=8),
        Trip(at.GET, previous=True, length=0),
    )

    def program(paths: Sequence[str], measured: Mapping[str, float]) -> Dataflow:
        del paths, measured
        times = ApplicationTimes(lambda device, function: 1e4)  # noqa: ARG005 - one path: nothing is chosen by them
        requests = table(("GET",), (_PATH,), [[trips]], times, (RequestDependency.NONE,), (True,))
        return Dataflow(requests, ((trips,),))

    def local() -> dict[str, Device]:
        device = open_device(card, CARD)
        try:
            fill(device, names, objects)
        except BaseException:
            device.close()
            raise
        return {CARD: device}

    parameters = {"keys": keys, "seed": seed, "longest": VALUE_BYTES}
    return Application(
        name="chain",
        paths=(_PATH,),
        plan=ResponderPlan(
            "offramp.leo.applications.kvs_store:prepare", parameters, {NIC: nic}, memory_bytes(keys), 256
        ),
        program=program,
        workload=lambda run: NameWorkload(names, objects, run),
        settings=RequesterSettings(
            rows=256, stride=128, transport="nic", timeout_s=timeout_s, silent_s=timeout_s, seed=seed
        ),
        window=128,
        local=local,
    )


class NameWorkload:
    """Workload of names drawn uniformly; every byte of every value is compared."""

    def __init__(self, names: np.ndarray, objects: np.ndarray, seed: int) -> None:
        drawn = np.random.default_rng(seed).integers(0, len(names), _TRACE)
        self._names = names[drawn]
        self._values = values_of(objects[drawn], np.zeros(_TRACE, np.int64)).view(np.uint8)
        self._bytes = self._names.view(np.uint8)

    def batch(self, start: int, count: int) -> RequestBatch:
        """See :class:`offramp.leo.applications.workload.Workload`."""
        which = np.arange(start, start + count) % _TRACE
        zeros = np.zeros(count, np.int64)
        return RequestBatch(zeros, zeros, self._bytes, which * 8, np.full(count, 8, np.int64), lasts=True)

    def wrong(self, done: Completions) -> int:
        """Number of requests that failed or returned a value with any wrong byte."""
        good = (done.statuses == Status.OK) & (done.lengths == VALUE_BYTES)
        answers = done.memory[done.rows, :VALUE_BYTES]
        good &= (answers == self._values[done.users % _TRACE]).all(axis=1)
        return int((~good).sum())
