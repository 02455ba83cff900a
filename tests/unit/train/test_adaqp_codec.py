# SPDX-License-Identifier: Apache-2.0
"""AdaQP's widths in training: what a message carries, that it means the rows, that damage is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from feature_codecs import decoded
from offramp.codecs.adaqp import AdaqpCodec
from offramp.graph.step_messages import StepMessage
from offramp.sylvie.adaqp import balanced_widths, row_weights, variance
from offramp.sylvie.message import message_bytes
from offramp.train.planned import plan_run
from offramp.train.settings import TrainSettings
from offramp.workers.mailbox import Key
from offramp_base.errors import OfframpError

BASE = TrainSettings("random", workers=2, propagator="p2p", partition="hash", schedule="g3", bins=1, codec="adaqp")
COLUMNS = 16


@pytest.fixture
def pair(graph):
    """The message from the first worker to the second, at both ends, and rows of very different ranges."""
    sender, receiver = (job.rows for job in plan_run(graph, BASE).jobs([]))
    sent = sender.sends[0]
    got = next(m for m in receiver.receives if m.bin == sent.bin)
    assert np.array_equal(sent.ids, got.ids)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(len(sender.ids), COLUMNS)) * 10.0 ** rng.integers(-2, 2, (len(sender.ids), 1))
    return sent, got, torch.from_numpy(x.astype(np.float32))


def widths_of(payload: torch.Tensor, count: int) -> np.ndarray:
    codes = np.unpackbits(payload.numpy()[: -(-count // 4)], bitorder="little").reshape(-1, 2) @ (1, 2)
    return np.array([2, 4, 8])[codes[:count]]


def test_bytes_and_widths_follow_the_weights(pair) -> None:
    sent, _, x = pair
    codec = AdaqpCodec(0, 3)
    payload = codec.encode(x, sent, Key(1, 1, backward=False, bin=sent.bin))
    widths = widths_of(payload, len(sent.rows))
    counts = [(widths == bits).sum() for bits in (2, 4, 8)]
    assert len(payload) == -(-len(widths) // 4) + message_bytes(counts, COLUMNS, 2, compact=True)
    assert len(set(widths.tolist())) > 1
    rows = x.numpy()[sent.rows]
    weights = row_weights(rows.max(1) - rows.min(1), sent.weights)
    order = np.argsort(-weights, kind="stable")
    assert (np.diff(widths[order]) <= 0).all()  # more weight never gets fewer bits
    even = np.full(len(widths), 2, np.uint8)
    assert variance(weights, widths, COLUMNS) < variance(weights, even, COLUMNS)


@pytest.mark.full
def test_the_mean_of_what_is_read_is_the_row(pair) -> None:
    sent, got, x = pair
    sender, receiver = AdaqpCodec(0, 3), AdaqpCodec(1, 3)
    total = torch.zeros(len(sent.rows), COLUMNS)
    steps = 2000
    for step in range(steps):
        key = Key(step, 1, backward=False, bin=sent.bin)
        total += decoded(receiver, sender.encode(x, sent, key), got, key, COLUMNS)
    rows = x[sent.rows]
    step_of = (rows.amax(1) - rows.amin(1)) / 3 * 1.03  # at 2 bits, bounds as bfloat16
    assert ((total / steps - rows).abs() <= 5 * step_of[:, None] / 2 / steps**0.5).all()


def test_widths_are_chosen_anew_after_a_period(pair) -> None:
    sent, _, x = pair
    codec = AdaqpCodec(0, 3, period=3)
    flat = torch.zeros_like(x)

    def chosen(rows: torch.Tensor, step: int) -> list[int]:
        return widths_of(codec.encode(rows, sent, Key(step, 1, backward=False, bin=0)), len(sent.rows)).tolist()

    first = chosen(x, 1)
    assert chosen(flat, 3) == first
    assert chosen(flat, 4) == [2] * len(first)


def test_all_three_widths_are_read_as_they_were_sent(pair) -> None:
    sent, got, x = pair
    sender, receiver = AdaqpCodec(0, 3), AdaqpCodec(1, 3)
    key = Key(1, 1, backward=False, bin=sent.bin)
    count = len(sent.rows)
    wanted = np.array([2, 4, 8] * count, np.uint8)[:count]
    sender._chosen[sent.peer, sent.bin, 1, False] = 1, wanted
    payload = sender.encode(x, sent, key)
    assert (widths_of(payload, count) == wanted).all()
    rows = x[sent.rows]
    off = (decoded(receiver, payload, got, key, COLUMNS) - rows).abs()
    ranges = rows.amax(1) - rows.amin(1)
    steps = ranges / torch.from_numpy(2.0**wanted - 1) * 1.03 + ranges / 100  # bounds as bfloat16
    assert (off <= steps[:, None]).all()


@pytest.mark.parametrize("backward", [False, True])
def test_gradients_weigh_by_their_ranges_alone(pair, backward: bool) -> None:
    sent, _, x = pair
    widths = widths_of(AdaqpCodec(0, 3).encode(x, sent, Key(1, 1, backward=backward, bin=sent.bin)), len(sent.rows))
    rows = x.numpy()[sent.rows]
    weights = row_weights(rows.max(1) - rows.min(1), 1.0 if backward else sent.weights)
    assert (widths == balanced_widths([weights], COLUMNS, [1.0])[0]).all()


def test_chosen_widths_and_their_steps_come_back_from_a_checkpoint(pair) -> None:
    sent, _, x = pair
    first, second = (StepMessage(sent, layer, backward=False, width=COLUMNS) for layer in (1, 2))
    codec = AdaqpCodec(0, 3)
    codec.encode(x, sent, Key(7, 2, backward=False, bin=sent.bin))
    arrays = codec.arrays([first, second])
    assert arrays["since"].tolist() == [-1, 7]
    other = AdaqpCodec(0, 3)
    other.restore([first, second], arrays)
    assert other._chosen.keys() == {(sent.peer, sent.bin, 2, False)}
    since, widths = other._chosen[sent.peer, sent.bin, 2, False]
    assert (since, widths.tolist()) == (7, codec._chosen[sent.peer, sent.bin, 2, False][1].tolist())
    assert {key: again.tolist() for key, again in other.arrays([first, second]).items()} == {
        key: values.tolist() for key, values in arrays.items()
    }


def test_weights_are_the_squared_coefficients_of_the_receiver(graph) -> None:
    planned = plan_run(graph, replace(BASE, workers=3))
    owner, closed = planned.boundary.owner, graph.degrees + 1.0
    for worker, job in enumerate(planned.jobs([])):
        for message in job.rows.receives:
            for vertex, weight in zip(message.ids.tolist(), message.weights.tolist(), strict=True):
                row = graph.indices[graph.indptr[vertex] : graph.indptr[vertex + 1]]
                mine = row[owner[row] == worker]
                assert weight == pytest.approx((1 / (closed[vertex] * closed[mine])).sum())


def test_damage_is_refused(pair) -> None:
    sent, got, x = pair
    key = Key(3, 1, backward=False, bin=sent.bin)
    payload = AdaqpCodec(0, 3).encode(x, sent, key)
    receiver = AdaqpCodec(1, 3)
    strange = payload.clone()
    strange[0] = 0xFF
    for spoilt, asked in (
        (payload, key._replace(step=4)), (payload[:-1], key), (payload[:1], key), (payload[:0], key), (strange, key),
    ):  # fmt: skip
        with pytest.raises(OfframpError):
            decoded(receiver, spoilt, got, asked, COLUMNS)
