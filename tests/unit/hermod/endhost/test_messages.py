# SPDX-License-Identifier: Apache-2.0
"""Sends and receives between two ranks: which meets which, and what is refused. Oracle: the tensors that were sent."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist

from endpoints import SECONDS, endpoints
from locks import waits_for
from offramp.hermod.endhost import Priorities, Tuning
from offramp.hermod.endhost.messages import Messages
from offramp.hermod.factors import CType, Factors
from offramp_base.errors import OfframpError

JOB = Priorities.of_job(8, 32)


def test_the_nth_send_meets_the_nth_receive_of_its_tag() -> None:
    with endpoints(2, JOB) as (a, b):
        ours, theirs = Messages(a), Messages(b)
        sent = {(tag, n): torch.full((3, 5), 10.0 * tag + n) for tag in (0, 1) for n in (1, 2)}
        handles = [ours.isend(sent[tag, n], 1, **({"tag": tag} if tag else {})) for n in (1, 2) for tag in (1, 0)]
        came = {key: torch.empty(5, 3).T for key in sent}  # not contiguous
        for tag in (0, 1):
            handles += [theirs.irecv(came[tag, n], 0, **({"tag": tag} if tag else {})) for n in (1, 2)]
        for handle in handles:
            handle.wait()
        for key, tensor in sent.items():
            assert torch.equal(came[key], tensor)


def test_a_peer_may_take_a_message_and_leave_before_it_hears_of_it(monkeypatch) -> None:
    """A sender tells of a message behind its start; a peer that waited for it may be gone by then."""

    class Closed:
        def send(self, *_) -> None:
            raise BrokenPipeError

    with endpoints(2, JOB) as (a, b):
        came, exchange = torch.empty(3), a.exchange
        arriving = Messages(b).irecv(came, 0)

        def taken_at_once(*arguments):
            future = exchange(*arguments)
            future.result(SECONDS)
            arriving.wait()
            b.close()
            a._controls[1] = Closed()
            return future

        monkeypatch.setattr(a, "exchange", taken_at_once)
        Messages(a).isend(torch.arange(3.0), 1).wait()
        assert came.tolist() == [0.0, 1.0, 2.0]
        assert a.failure is None


def test_a_batch_sends_and_receives_all_that_is_in_it() -> None:
    with endpoints(2, JOB) as ranks:
        sent = [torch.arange(4.0) + rank for rank in range(2)]
        came = [torch.empty(4) for _ in range(2)]
        handles = []
        for rank, endpoint in enumerate(ranks):
            batch = [
                SimpleNamespace(op=dist.isend, tensor=sent[rank], peer=1 - rank, tag=3),
                SimpleNamespace(op=dist.irecv, tensor=came[1 - rank], peer=1 - rank, tag=3),
            ]
            handles += Messages(endpoint).batch_isend_irecv(batch, Factors(1, CType.PP, 2))
        assert len(handles) == 4
        for handle in handles:
            handle.wait()
        assert torch.equal(came[0], sent[0])
        assert torch.equal(came[1], sent[1])
        with pytest.raises(OfframpError, match="expected isend or irecv"):
            Messages(ranks[0]).batch_isend_irecv([SimpleNamespace(op=dist.broadcast, tensor=sent[0], peer=1, tag=0)])


def test_tensors_elsewhere_are_refused_and_take_no_number() -> None:
    with endpoints(2, JOB) as (a, b):
        ours, theirs = Messages(a), Messages(b)
        elsewhere = torch.empty(3, device="meta")
        with pytest.raises(OfframpError, match="send to rank 1: tensor is on meta"):
            ours.isend(elsewhere, 1)
        with pytest.raises(OfframpError, match="receive from rank 0: tensor is on meta"):
            theirs.irecv(elsewhere, 0)
        for tag in (-1, 1 << 31):
            with pytest.raises(OfframpError, match=f"tag {tag}: expected 0 to"):
                ours.isend(torch.ones(1), 1, tag)
        came = torch.empty(3)
        receive, send = theirs.irecv(came, 0), ours.isend(torch.ones(3), 1)
        send.wait()
        receive.wait()
        assert torch.equal(came, torch.ones(3))


def test_a_message_that_never_comes_is_named() -> None:
    with endpoints(2, JOB, tuning=Tuning(timeout_s=0.3)) as (a, _), pytest.raises(OfframpError) as caught:
        Messages(a).irecv(torch.empty(1), 1).wait()
    assert str(caught.value) == "receive from rank 1 is not over after 0.3 s, waiting for rank 1"


def test_numbers_wait_for_the_lock() -> None:
    with endpoints(2, JOB) as (a, b):
        messages = Messages(a)
        came = torch.empty(1)
        receive = Messages(b).irecv(came, 0)
        assert waits_for(messages._lock, lambda: messages.isend(torch.ones(1), 1))
        receive._future.result(SECONDS)


def test_a_receive_from_any_rank_takes_what_is_sent_first_and_leaves_the_rest_to_others() -> None:
    with endpoints(3, JOB) as (a, b, c):
        receiver, second, third = Messages(a), Messages(b), Messages(c)
        into = [torch.empty(2, 2).T for _ in range(4)]
        early = receiver.irecv_any(into[0])
        handles = [third.isend(torch.full((2, 2), 20.0), 0)]
        assert early.result(SECONDS) == 2
        handles.append(second.isend(torch.full((2, 2), 11.0), 0, tag=7))  # of another tag
        handles += [second.isend(torch.full((2, 2), 10.0 + n), 0) for n in (2, 3)]
        assert receiver.irecv_any(into[1]).result(SECONDS) == 1
        receiver.irecv(into[2], 1).wait()
        receiver.irecv(into[3], 1, tag=7).wait()
        for handle in handles:
            handle.wait()
        assert [each.unique().tolist() for each in into] == [[20.0], [12.0], [13.0], [11.0]]


def test_a_receive_from_any_rank_ends_with_the_endpoint() -> None:
    with endpoints(2, JOB) as (a, b):
        waiting = Messages(a).irecv_any(torch.empty(2))
        b.fail("the card is gone")
        with pytest.raises(OfframpError, match="the card is gone"):
            waiting.result(SECONDS)
        with pytest.raises(OfframpError, match="the card is gone"):
            Messages(a).irecv_any(torch.empty(2))
