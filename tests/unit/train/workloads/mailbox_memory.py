# SPDX-License-Identifier: Apache-2.0
"""A worker that notes which memory its mailbox hands to gloo."""

from __future__ import annotations

import torch
import torch.distributed as dist

from offramp.workers.mailbox import Key


def same_memory(group, item, report):
    """At rank 0: whether both workers' payloads went to gloo, and came from it, without a copy."""
    del item, report
    sent, received = [], []
    send, recv = dist.send, dist.recv
    dist.send = lambda tensor, *rest: (sent.append(tensor.data_ptr()), send(tensor, *rest))
    dist.recv = lambda tensor, *rest: (received.append(tensor.data_ptr()), recv(tensor, *rest))
    mailbox = group.mailbox(60.0, None)
    peer, key = 1 - group.rank, Key(1, 1, backward=False, bin=0)
    payload = torch.full((1 << 20,), group.rank, dtype=torch.uint8)
    mailbox.post(peer, key, payload)
    mailbox.wait([(peer, key)])
    rows = mailbox.take((peer, key))
    mailbox.close()
    dist.send, dist.recv = send, recv
    same = payload.data_ptr() in sent and rows.data_ptr() in received and bool((rows == peer).all())
    return group.gather(same, bool)
