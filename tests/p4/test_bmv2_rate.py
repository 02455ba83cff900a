# SPDX-License-Identifier: Apache-2.0
"""The rate of a bmv2 from the times at which its frames leave; a list of departures stands for bmv2."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.bench import bmv2, router

pytestmark = pytest.mark.p4


@pytest.fixture(scope="module")
def workload() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(router, "ROUTES", 100)
        return router.router(64, packets=64)


def leaving(monkeypatch: pytest.MonkeyPatch, step_us: int, seen: list[Any], drop: int = 0) -> None:
    def run(_: str, like: Any, packets: list[Any], ports: Any, *, expected: Iterable[bytes], **__: Any) -> list[Any]:
        seen.append((len(packets), list(expected)))
        frames = like.process(bmv2.PacketBatch.of([(port, frame) for _, port, frame in packets]))
        out = list(zip(frames.ports.tolist(), map(bytes, frames.frames()), strict=True))
        return [SimpleNamespace(port=p, frame=f, us=1000 + step_us * n) for n, (p, f) in enumerate(out)][drop:]

    monkeypatch.setattr(bmv2, "run", run)


@pytest.mark.parametrize(("step_us", "copies"), [(10, 1), (20, 3)])
def test_packets_of_the_fastest_share(
    workload: Any, monkeypatch: pytest.MonkeyPatch, step_us: int, copies: int
) -> None:
    seen: list[Any] = []
    leaving(monkeypatch, step_us, seen)
    rate = bmv2.measure_bmv2(workload, copies * 64 / 15_000)
    ((packets, expected),) = seen
    assert packets == 64 * copies
    span = (len(expected) - 1) // 4
    assert rate.seconds == step_us * span / 1e6
    assert rate.packets == round(packets * span / len(expected))
    assert rate.passes == rate.packets
    assert (rate.switch, rate.links) == ("bmv2", "memory")


def test_a_frame_that_is_missing_is_no_rate(workload: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    leaving(monkeypatch, 10, [], drop=1)
    with pytest.raises(OfframpError, match="frames left within 25 s, not all as the"):
        bmv2.measure_bmv2(workload, 0.0)
