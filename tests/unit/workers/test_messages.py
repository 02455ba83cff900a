# SPDX-License-Identifier: Apache-2.0
"""Messages between ranks, over a wire that is a list here; ranks send them in other tests."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from offramp_base.errors import OfframpError

torch = pytest.importorskip("torch")

from offramp.workers import messages  # noqa: E402


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> deque[Any]:
    sent: deque[Any] = deque()
    monkeypatch.setattr(messages, "_PIECE", 4)
    monkeypatch.setattr(messages.dist, "send", lambda tensor, rank: sent.append((rank, tensor.clone())))
    monkeypatch.setattr(messages.dist, "recv", lambda tensor, rank: tensor.copy_(sent.popleft()[1]))
    return sent


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 11])
def test_a_message_goes_in_pieces_and_comes_whole(wire: deque[Any], size: int) -> None:
    messages.send(bytearray(range(size)), 2)
    assert {rank for rank, _ in wire} == {2}
    assert [len(tensor) for _, tensor in wire][1:] == [4] * (size // 4) + [size % 4] * (size % 4 > 0)
    assert messages.receive(2, size) == bytes(range(size))
    assert not wire


@pytest.mark.parametrize("length", [-1, 8])
def test_a_length_that_cannot_be_is_refused(wire: deque[Any], length: int) -> None:
    wire.append((1, torch.tensor([length])))
    with pytest.raises(OfframpError, match=f"rank 1 announces a message of {length} bytes, expected at most 7"):
        messages.receive(1, 7)
