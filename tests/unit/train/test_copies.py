# SPDX-License-Identifier: Apache-2.0
"""A feature vector is copied at most twice between tensor and socket, and once between socket and tensor.

Copies are counted where they happen: in PyTorch by operations that write a tensor of that size, in NumPy by what it
allocates. Blind to the copies that gloo and the kernel make.
"""

from __future__ import annotations

import importlib
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from offramp.codecs.base import CODECS, Coding
from offramp.codecs.plain import PlainCodec
from offramp.codecs.sampled import SampledCodec
from offramp.graph.halo_plan import HaloMessage, HaloPlan
from offramp.train.settings import TrainSettings
from offramp.workers.mailbox import Key
from offramp.workers.processes import run_workers
from offramp_base.errors import OfframpError

VERTICES, WIDTH = 4096, 64
KEY = Key(1, 1, backward=False, bin=0)
EVERY = np.arange(VERTICES)
SENT, GOT = (HaloMessage(peer, 0, EVERY[::-1].copy(), EVERY, np.ones(VERTICES)) for peer in (1, 0))
"""All vertices, in the other order: what is sent cannot be the tensor itself."""

X = torch.rand(VERTICES, WIDTH, generator=torch.Generator().manual_seed(1))


class Writes(TorchDispatchMode):
    """Counts operations that write about as many bytes as features have."""

    def __init__(self, least: int) -> None:
        super().__init__()
        self.least, self.names = least, list[str]()

    def __torch_dispatch__(self, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        known = {each.untyped_storage().data_ptr() for each in args if isinstance(each, torch.Tensor)}
        result = operator(*args, **(kwargs or {}))
        name = operator._schema.name
        written = args[2] if "index_put" in name else args[1] if name.endswith("copy_") else None
        if isinstance(result, torch.Tensor) and result.untyped_storage().data_ptr() not in known:
            written = result
        if written is not None and written.nbytes >= self.least:
            self.names.append(name)
        return result


@dataclass
class Copies:
    """Counts of operations of PyTorch, and of bytes of NumPy at once."""

    operations: list[str] = field(default_factory=list)
    numpy_bytes: int = 0


@contextmanager
def counted(least: int) -> Iterator[Copies]:
    copies = Copies()
    tracemalloc.start()
    try:
        with Writes(least) as writes:
            yield copies
        copies.numpy_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    copies.operations = writes.names


def test_the_count_sees_copies() -> None:
    with counted(X.nbytes) as copies:
        torch.empty_like(X).copy_(X[torch.arange(VERTICES)].clone())
        np.ones(2 * X.nbytes, np.uint8)
    assert len(copies.operations) == 4  # empty memory, too
    assert copies.numpy_bytes >= 2 * X.nbytes


def codec_of(name: str, rank: int) -> Coding:
    """The codec of worker 0, which sends, or of worker 1."""
    if name == "sampled":
        return SampledCodec(PlainCodec(torch.float32), rank, 0.9, 1)
    sends, receives = ([SENT], []) if rank == 0 else ([], [GOT])
    plan = HaloPlan(EVERY, np.ones(VERTICES, np.int64), None, [], sends, receives)  # type: ignore[arg-type]
    settings = TrainSettings("karate", propagator="p2p", schedule="g3", codec=name)
    return CODECS.get(name).of(settings, plan, rank)


@pytest.mark.parametrize("name", ["fp32", "sampled", "q1", "q8", "sylvie", "adaqp"])
@pytest.mark.parametrize("add", [False, True])
def test_two_copies_there_and_one_back(name: str, add: bool) -> None:
    sender, receiver = codec_of(name, 0), codec_of(name, 1)
    out = torch.zeros(VERTICES, WIDTH)
    receiver.decode(sender.encode(X, SENT, KEY), GOT, KEY, out)  # tables and machine code are made once
    out.zero_()
    least = X.nbytes // 2
    with counted(least) as there:
        payload = sender.encode(X, SENT, KEY)
    slack = 64 * VERTICES  # numbers of rows and their widths
    assert len(there.operations) + there.numpy_bytes // (len(payload) + slack) <= 2, there
    with counted(least) as back:
        receiver.decode(payload, GOT, KEY, out, add=add)
    assert len(back.operations) <= (2 if add else 1), back  # what is added to is read first
    assert back.numpy_bytes < least, back
    if name == "fp32":
        assert torch.equal(out, X)


def test_another_number_of_bytes_is_refused_by_its_sender() -> None:
    codec = PlainCodec(torch.float32)
    payload = codec.encode(X, SENT, KEY)
    out = torch.zeros(VERTICES, WIDTH)
    for spoilt in (payload[:-1], payload[4:], payload[:0], torch.cat([payload, payload[:4]])):
        message = f"worker 0, layer 1: message of {len(spoilt)} bytes, expected {len(payload)}"
        with pytest.raises(OfframpError, match=f"^{message}$"):
            codec.decode(spoilt, GOT, KEY, out)
    assert not out.any()


def test_a_mailbox_sends_the_payload_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gloo gets the codec's memory, and the reader gets the memory that gloo wrote to."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "workloads"))
    work = importlib.import_module("mailbox_memory")
    assert run_workers(work.same_memory, [None, None], lambda _: None) == [True, True]
