# SPDX-License-Identifier: Apache-2.0
"""Look-ups of the demonstration's card: each key is asked for once, and wrong answers are counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from offramp import Status
from offramp.leo.applications.kvs_store import addresses_of, keys_of
from offramp.leo.functions import kvs
from offramp_cli.demo import rtl


class Card:
    """Answers in batches of three; some wrongly, some not at all."""

    def __init__(self, spoilt: set[int], failed: set[int]) -> None:
        self.spoilt, self.failed = spoilt, failed
        self.asked: list[tuple[str, int, bytes]] = []
        self.answered, self.closed = 0, False

    def submit(self, function: str, number: int, message: bytes) -> None:
        self.asked.append((function, number, message))

    def poll(self) -> list[Any]:
        batch = self.asked[self.answered : self.answered + 3]
        self.answered += len(batch)
        addresses = addresses_of(len(self.asked))
        return [
            SimpleNamespace(
                request=number,
                status=Status.OK if number not in self.failed else None,
                message=(int(addresses[number]) + (number in self.spoilt)).to_bytes(8, "little") + b"more",
                busy_ns=100 - number,
            )
            for _, number, _ in batch
        ]

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize(("spoilt", "failed"), [(set(), set()), ({2, 6}, set()), ({1}, {0, 1, 7})])
def test_wrong_answers_are_counted(monkeypatch: pytest.MonkeyPatch, spoilt: set[int], failed: set[int]) -> None:
    card, filled = Card(spoilt, failed), []
    monkeypatch.setattr(rtl, "open_device", lambda name: card if name == "fpga:" else None)
    monkeypatch.setattr(rtl, "fill", lambda device, keys, addresses: filled.append((device, len(keys), len(addresses))))
    assert rtl.look_up(8, 5) == {"count": 8, "wrong": len(spoilt | failed), "busy_ns": 97}
    assert card.asked == [(kvs.NAME, number, key.tobytes()) for number, key in enumerate(keys_of(8, 5))]
    assert filled == [(card, 8, 8)]
    assert card.closed


def test_a_card_that_does_not_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card(set(), set())
    monkeypatch.setattr(card, "poll", list)
    monkeypatch.setattr(rtl, "open_device", lambda _: card)
    monkeypatch.setattr(rtl, "fill", lambda *_: None)
    monkeypatch.setattr(rtl, "_WAIT_S", 0.01)
    assert rtl.look_up(4, 1) == {"count": 4, "wrong": 4, "busy_ns": 0}
    assert card.closed
