# SPDX-License-Identifier: Apache-2.0
"""Measuring functions through the interface of devices. Blind to what real devices take."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from offramp.device import Completion, Status
from offramp.leo.config import load_config
from offramp.leo.functions import compress, ebs, kvs, reduce
from offramp.leo.memory import HostMemory
from offramp.leo.profile import machine
from offramp.leo.profile.functions import measure_function
from offramp.leo.profile.peers import measure_shared
from offramp.leo.profile.samples import sample
from offramp_base.errors import OfframpError

BUSY_NS = {kvs.NAME: 1500, ebs.NAME: 2500, reduce.NAME: 3500, "compress": 4500, "decompress": 5500}


class FakeDevice:
    """Answers at once, and says how long each function has kept it busy."""

    name, kind, depth = "fake", "cpu", 4

    def __init__(self, status: Status = Status.OK) -> None:
        self.functions = tuple(BUSY_NS)
        self.status = status
        self.memories: dict[str, HostMemory] = {}
        self.done: list[Completion] = []

    def memory(self, function: str) -> HostMemory:
        return self.memories.setdefault(function, HostMemory(1 << 20))

    def submit(self, function: str, request: int, message: bytes) -> bool:
        self.done.append(Completion(request, self.status, b"", BUSY_NS[function]))
        return True

    def poll(self) -> list[Completion]:
        done, self.done = self.done, []
        return done


def test_samples_are_requests_that_the_models_answer() -> None:
    device = FakeDevice()
    tables = {name: sample(device, name) for name in BUSY_NS}  # type: ignore[arg-type]
    answers: dict[str, Callable[[bytes], bytes]] = {
        reduce.NAME: reduce.answer, "compress": compress.compress, "decompress": compress.decompress
    }  # fmt: skip
    for name, answer in answers.items():
        message = tables[name]
        assert message is not None
        assert answer(message)
    assert sample(device, "unknown") is None  # type: ignore[arg-type]


def test_a_device_says_what_its_functions_take() -> None:
    assert measure_function(FakeDevice(), "compress", b"x", seconds=0.01) == 4.5  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("device", "function", "message"),
    [
        (FakeDevice(), "sing", "device fake: no function sing"),
        (FakeDevice(Status.BAD_LENGTH), "compress", "device fake: compress: bad length"),
    ],
)
def test_faults_are_one_line(device: FakeDevice, function: str, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        measure_function(device, function, b"x", seconds=0.01)  # type: ignore[arg-type]


def test_functions_of_an_application_by_trip_end_and_node(monkeypatch: pytest.MonkeyPatch) -> None:
    known = machine.LinkProfile(bw_gbps=1, mps=1, latency_ns=1)
    monkeypatch.setattr(machine, "MEDIA", {"memory": lambda: known})
    config = load_config(["off-path", "dfs"])
    profile = machine.measure_machine(config, {}, {"cpu": FakeDevice(), "acc": FakeDevice()}, 0.01)  # type: ignore[dict-item]
    assert profile["compute_us"]["dfs"]["WRITE"] == [
        {"requester": {"cpu": 4.5, "acc": 4.5}, "responder": {"cpu": 5.5, "acc": 5.5}}
    ]
    assert profile["links"] == {"pcie": known.model_dump(), "router": known.model_dump()}


@pytest.mark.full
def test_shared_memory_between_processes_is_measured() -> None:
    link = measure_shared(rounds=20, messages=50, megabytes=1)
    assert min(link.bw_gbps, link.mps, link.latency_ns) > 0
