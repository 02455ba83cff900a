# SPDX-License-Identifier: Apache-2.0
"""The ledger by itself: who came first, how much may come early, and that everything waits for its lock."""

from __future__ import annotations

import threading

import pytest

from offramp.hermod.endhost import ledger as module
from offramp.hermod.endhost.ledger import Ledger, NumberInUse
from offramp.hermod.endhost.priorities import Mark
from offramp.hermod.endhost.transfers import Coflow, Outgoing
from offramp_base.errors import OfframpError


def outgoing(message: int, data: bytes, number: int = 0) -> Outgoing:
    view = memoryview(bytearray(data))
    coflow = Coflow(Mark((0,), 0, 0), number, in_order=False)
    made = Outgoing((1, message), view, coflow, len(view))
    coflow.cut({1: made}, None)
    return made


def test_what_a_peer_waits_for_is_sent_whoever_comes_first() -> None:
    for early in (False, True):
        ledger, transfer = Ledger(), outgoing(7, b"abcd")
        if early:
            ledger.ready((1, 7), 4)
            ledger.submit(transfer.coflow, [transfer], [])
        else:
            ledger.submit(transfer.coflow, [transfer], [])
            assert ledger.next(()) is None
            ledger.ready((1, 7), 4)
        found = ledger.next(())
        assert found is not None
        assert found[0].outgoing is transfer


def test_transfers_that_come_early_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_EARLY", 3)
    ledger = Ledger()
    for message in range(3):
        ledger.ready((1, message), 4)
    with pytest.raises(OfframpError, match="rank 1 waits for more than 3 transfers"):
        ledger.ready((1, 3), 4)
    transfer = outgoing(0, b"abcd")
    ledger.submit(transfer.coflow, [transfer], [])  # gives room for one
    assert transfer.ready
    ledger.ready((1, 3), 4)
    with pytest.raises(OfframpError, match="more than 3"):
        ledger.ready((1, 4), 4)
    late = outgoing(9, b"x")
    ledger.submit(late.coflow, [late], [])
    ledger.ready((1, 9), 1)  # of a transfer that is here: no matter how many are not
    assert late.ready


def test_the_limit_holds_for_more_than_a_training_has() -> None:
    assert module._MOST_EARLY == 1_048_576


def test_another_size_is_named() -> None:
    ledger, transfer = Ledger(), outgoing(7, b"abcd")
    ledger.submit(transfer.coflow, [transfer], [])
    for total in (3, 5):
        with pytest.raises(OfframpError, match=f"rank 1 expects {total} bytes in message 0x7, it gets 4"):
            ledger.ready((1, 7), total)
    assert not transfer.ready


def test_a_number_in_use_changes_nothing() -> None:
    ledger, transfer = Ledger(), outgoing(7, b"abcd")
    ledger.submit(transfer.coflow, [transfer], [])
    again = outgoing(7, b"wxyz", 1)
    with pytest.raises(NumberInUse, match="message 0x7: is on its way already"):
        ledger.submit(again.coflow, [again], [])
    ledger.ready((1, 7), 4)
    found = ledger.next(())
    assert found is not None
    assert bytes(found[0].outgoing.view) == b"abcd"
    assert again.coflow.transfers == 0


@pytest.mark.parametrize("change", ["ready", "submit", "next"])
def test_everything_waits_for_the_lock(change: str) -> None:
    ledger, transfer = Ledger(), outgoing(7, b"abcd")
    changes = {
        "ready": lambda: ledger.ready((1, 8), 4),
        "submit": lambda: ledger.submit(transfer.coflow, [transfer], []),
        "next": lambda: ledger.next(()),
    }
    began, ended = threading.Event(), threading.Event()

    def run() -> None:
        began.set()
        changes[change]()
        ended.set()

    with ledger._lock:
        thread = threading.Thread(target=run)
        thread.start()
        assert began.wait(10)
        assert not ended.wait(0.1)
    thread.join(10)
    assert ended.is_set()
