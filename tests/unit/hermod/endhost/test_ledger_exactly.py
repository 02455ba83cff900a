# SPDX-License-Identifier: Apache-2.0
"""The ledger by itself: who came first, how much may come early, and that everything waits for its lock."""

from __future__ import annotations

import pytest

from locks import waits_for
from offramp.hermod.endhost import ledger as module
from offramp.hermod.endhost.ledger import NumberInUse, TransferLedger
from offramp.hermod.endhost.priorities import CoflowPriority
from offramp.hermod.endhost.transfers import CoflowTransfers, Incoming, OutgoingBytes
from offramp_base.errors import OfframpError


def outgoing(message: int, data: bytes, number: int = 0) -> OutgoingBytes:
    view = memoryview(bytearray(data))
    coflow = CoflowTransfers(CoflowPriority((0,), 0, 0), number, in_order=False)
    entry = OutgoingBytes((1, message), view, coflow, len(view))
    coflow.cut({1: entry}, None)
    return entry


def incoming(message: int, size: int) -> Incoming:
    view = memoryview(bytearray(size))
    coflow = CoflowTransfers(CoflowPriority((0,), 0, 0), message, in_order=False)
    return Incoming((1, message), view, coflow, size)


def test_what_a_peer_waits_for_is_sent_whoever_comes_first() -> None:
    for early in (False, True):
        ledger, transfer = TransferLedger(), outgoing(7, b"abcd")
        if early:
            ledger.ready((1, 7), 4)
            ledger.submit(transfer.coflow, [transfer], [])
        else:
            ledger.submit(transfer.coflow, [transfer], [])
            assert ledger.next(()) is None
            ledger.ready((1, 7), 4)
        piece = ledger.next(())
        assert piece is not None
        assert piece[0].outgoing is transfer


def test_transfers_that_come_early_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_EARLY", 3)
    ledger = TransferLedger()
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
    ledger, transfer = TransferLedger(), outgoing(7, b"abcd")
    ledger.submit(transfer.coflow, [transfer], [])
    for total in (3, 5):
        with pytest.raises(OfframpError, match=f"rank 1 expects {total} bytes in message 0x7, it gets 4"):
            ledger.ready((1, 7), total)
    assert not transfer.ready


def test_a_number_in_use_changes_nothing() -> None:
    ledger, transfer = TransferLedger(), outgoing(7, b"abcd")
    ledger.submit(transfer.coflow, [transfer], [])
    again = outgoing(7, b"wxyz", 1)
    with pytest.raises(NumberInUse, match="message 0x7: is on its way already"):
        ledger.submit(again.coflow, [again], [])
    ledger.ready((1, 7), 4)
    piece = ledger.next(())
    assert piece is not None
    assert bytes(piece[0].outgoing.view) == b"abcd"
    assert again.coflow.transfers == 0


@pytest.mark.parametrize(
    "change", ["ready", "submit", "next", "arrived", "target", "sent", "waiting", "expects", "fail"]
)
def test_everything_waits_for_the_lock(change: str) -> None:
    ledger, transfer = TransferLedger(), outgoing(7, b"abcd")
    coming = incoming(8, 4)
    ledger.submit(coming.coflow, [], [coming])
    on_its_way = outgoing(9, b"abcd")
    ledger.submit(on_its_way.coflow, [on_its_way], [])
    ledger.ready((1, 9), 4)
    piece = ledger.next(())
    assert piece is not None
    changes = {
        "ready": lambda: ledger.ready((1, 8), 4),
        "submit": lambda: ledger.submit(transfer.coflow, [transfer], []),
        "next": lambda: ledger.next(()),
        "target": lambda: ledger.target((1, 8), 0, 2, 4),
        "arrived": lambda: ledger.arrived((1, 8), 2),
        "sent": lambda: ledger.sent(piece[0], 1),
        "waiting": lambda: ledger.waiting,
        "expects": lambda: ledger.expects(1),
        "fail": lambda: ledger.fail(OfframpError("gone")),
    }
    assert waits_for(ledger._lock, changes[change])


def test_a_failure_ends_every_coflow_once_and_leaves_nothing_to_send() -> None:
    ledger, going, coming = TransferLedger(), outgoing(7, b"abcd"), incoming(8, 4)
    ledger.submit(going.coflow, [going], [])
    ledger.submit(coming.coflow, [], [coming])
    ledger.ready((1, 7), 4)
    assert ledger.waiting == ", waiting for rank 1"
    assert ledger.expects(1)
    assert ledger.fail(OfframpError("rank 1 is gone"))
    assert not ledger.fail(OfframpError("and again"))
    assert str(ledger.failure) == "rank 1 is gone"
    for transfer in (going, coming):
        assert str(transfer.coflow.future.exception(0)) == "rank 1 is gone"
    assert ledger.next(()) is None
    assert ledger.waiting == ""
    assert not ledger.expects(1)
    ledger.arrived((1, 8), 4)  # what was on its way changes nothing
    late = outgoing(9, b"x")
    with pytest.raises(OfframpError, match=r"^rank 1 is gone$"):
        ledger.submit(late.coflow, [late], [])


def test_arriving_bytes_come_in_order_and_whole() -> None:
    ledger, coming = TransferLedger(), incoming(8, 4)
    ledger.submit(coming.coflow, [], [coming])
    for route, offset, length, total in (
        ((1, 7), 0, 4, 4),
        ((2, 8), 0, 4, 4),
        ((1, 8), 1, 2, 4),
        ((1, 8), 0, 5, 4),
        ((1, 8), 0, 4, 5),
    ):
        with pytest.raises(OfframpError, match=f"rank {route[0]} sent bytes that were not asked for"):
            ledger.target(route, offset, length, total)
    for offset, part in ((0, b"ab"), (2, b"cd")):
        ledger.target((1, 8), offset, 2, 4)[:] = part
        assert not coming.coflow.future.done()
        ledger.arrived((1, 8), 2)
    assert coming.coflow.future.done()
    assert bytes(coming.view) == b"abcd"
    assert not ledger.expects(1)
