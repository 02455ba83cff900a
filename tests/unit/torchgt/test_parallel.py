# SPDX-License-Identifier: Apache-2.0
"""Ranks against one rank, bytes against the formula (G3, G4, G5)."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from offramp.torchgt.parallel import SequenceParallel, layer_bytes
from offramp.torchgt.run import prepare, train
from offramp.torchgt.trainer import TransformerTrainer
from offramp.workers.group import Group
from offramp_base.errors import OfframpError
from offramp_sim.switchgnn.thread_group import run_group

CASES = {
    "topology": {"attention": "topology"},
    "full": {"attention": "full"},
    "full, no bias, no padding": {"attention": "full", "model": "gt", "graph": "sbm:n=60,k=3,features=5"},
    "interleaved": {"attention": "interleaved", "period": 2},
    "conditions": {"attention": "interleaved", "interleave": "conditions"},
    "constructed": {"attention": "interleaved", "interleave": "constructed"},
    "reformed": {"attention": "reformed", "beta": "0.3", "period": 3},
    "reformed at random": {"attention": "reformed", "beta": "1", "placement": "random", "interleave": "never"},
    "no global token": {"attention": "reformed", "beta": "0.3", "global_token": False, "interleave": "never"},
    "short last sequence": {"attention": "topology", "sequence": 25, "distance": 2},
    "dropout": {"attention": "topology", "dropout": 0.3},
    "gt": {"attention": "reformed", "beta": "0.3", "model": "gt", "period": 2},
    "set of graphs": {"attention": "interleaved", "graph": "molecules:count=10", "graphs": 3, "period": 2},
    "families": {"attention": "reformed", "beta": "0.3", "graph": "families:count=6,nodes=20", "period": 2},
}


def trained(settings):
    """Losses, gradients of the last step, weights and byte counts of rank 0."""
    jobs = prepare(settings).jobs

    def work(group):
        trainer = TransformerTrainer(jobs[group.rank], group)
        epochs = trainer.run()
        gradients = {name: p.grad.clone() for name, p in trainer.model.named_parameters()}
        return epochs, gradients, trainer.model.state_dict(), trainer.last_step

    return [work(Group())] if settings.workers == 1 else run_group(settings.workers, work)


@pytest.mark.parametrize("case", CASES)
def test_ranks_compute_what_one_rank_does(settings, case: str) -> None:
    (alone,) = trained(settings(workers=1, **CASES[case]))
    for workers in (2, 4):
        for epochs, gradients, weights, _ in trained(settings(workers=workers, **CASES[case])):
            for ours, single in zip(epochs, alone[0], strict=True):
                assert ours.loss == pytest.approx(single.loss, abs=1e-10)
                assert ours.train_score == pytest.approx(single.train_score, abs=1e-10)
                assert ours.full_steps == single.full_steps
            for ours, single in ((gradients, alone[1]), (weights, alone[2])):
                for name, values in single.items():
                    torch.testing.assert_close(ours[name], values, atol=1e-9, rtol=1e-7)


def test_rounding_on_the_wire_does_not_depend_on_ranks(settings) -> None:
    changes = {"attention": "topology", "wire": "bfloat16", "epochs": 1}
    exact, rounded, shared = (
        trained(settings(workers=workers, **{**changes, **more}))[0][0][0].loss
        for workers, more in ((1, {"wire": "dtype"}), (1, {}), (4, {}))
    )
    assert shared == pytest.approx(rounded, abs=1e-12)
    assert 0 < abs(exact - rounded) < 1e-2


def test_every_gradient_takes_part(settings) -> None:
    ((_, gradients, _, _),) = trained(settings(workers=1, attention="topology"))
    assert all(gradient.abs().max() > 0 for gradient in gradients.values())


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize(
    ("dtype", "wire", "element"), [("float32", "dtype", 4), ("float64", "dtype", 8), ("float32", "bfloat16", 2)]
)
def test_bytes_are_those_of_the_formula(settings, workers: int, dtype: str, wire: str, element: int) -> None:
    chosen = settings(workers=workers, dtype=dtype, wire=wire, attention="topology")
    tokens = prepare(chosen).tokens[0]
    assert chosen.element == element
    expected = layer_bytes(tokens, 16, workers, element)
    assert expected == 4 * tokens * 16 * (workers - 1) // workers**2 * element
    for epochs, _, _, exchanges in trained(chosen):
        forward = exchanges[: 2 * chosen.size.layers]
        backward = exchanges[2 * chosen.size.layers :]
        assert [e.backward for e in forward + backward] == [False] * len(forward) + [True] * len(backward)
        for way in (forward, backward):
            assert sum(e.sent for e in way) == chosen.size.layers * expected
            assert [e.sent for e in way if e.heads != e.backward] == [expected * 3 // 4] * chosen.size.layers
        assert epochs[0].sent_bytes == workers * 2 * chosen.size.layers * expected


def test_bytes_of_a_rank_do_not_grow_with_the_sequence_at_equal_shares() -> None:
    per_share = [layer_bytes(256 * ranks, 64, ranks) for ranks in (2, 4, 8, 16, 64)]
    assert max(per_share) < 4 * 256 * 64 * 4
    assert layer_bytes(256 * 1024, 64, 2) == 67108864
    golden = {2: 67.1, 4: 50.3, 8: 29.4, 16: 15.7}
    for ranks, megabytes in golden.items():
        assert layer_bytes(256 * 1024, 64, ranks) / 1e6 == pytest.approx(megabytes, abs=0.05)


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_tokens_become_heads_and_come_back(ranks: int) -> None:
    tokens, kinds, heads, d = 4, 3, 6, 2
    whole = torch.arange(ranks * tokens * kinds * heads * d, dtype=torch.float64).view(-1, kinds, heads, d)

    def work(group):
        parallel = SequenceParallel(group)
        own = whole[group.rank * tokens : (group.rank + 1) * tokens].clone().requires_grad_()
        by_heads = parallel.to_heads(own)
        back = parallel.to_tokens(by_heads)
        weights = torch.rand(back.shape, dtype=torch.float64)
        (back * weights).sum().backward()
        return own, by_heads, back, weights

    for rank, (own, by_heads, back, weights) in enumerate(run_group(ranks, work) if ranks > 1 else [work(Group())]):
        share = heads // ranks
        expected = whole[:, :, rank * share : (rank + 1) * share].permute(1, 2, 0, 3)
        assert torch.equal(by_heads, expected)
        assert torch.equal(back, own)
        assert torch.equal(own.grad, weights)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workers": 3}, "heads 4: expected a multiple of workers 3"),
        ({"workers": 8}, "heads 4: expected a multiple of workers 8"),
        ({"heads": 5}, "hidden 16: expected a multiple of heads 5"),
        ({"workers": 4, "sequence": 3}, "sequence 3: expected at least workers 4"),
        ({"beta": "much"}, "beta much: expected auto or a density from 0 to 1"),
        ({"beta": "nan"}, "beta nan: expected auto or a density from 0 to 1"),
        ({"beta": "1.5"}, "beta 1.5: expected auto or a density from 0 to 1"),
        ({"attention": "all"}, "attention all: expected one of topology, interleaved, full, reformed"),
        ({"period": 0}, "period 0: expected at least 1"),
        ({"graphs": 4}, "graphs 4: with attention reformed blocks would join graphs, expected 1"),
        ({"lr": 0.0}, "lr 0: expected more than 0 and below 1e+30"),
        ({"dropout": 1.0}, "dropout 1: expected at least 0 and below 1"),
    ],
)
def test_what_cannot_run_is_refused(settings, changes, message: str) -> None:
    with pytest.raises(OfframpError) as caught:
        settings(**changes)
    assert str(caught.value) == message


def test_fewer_vertices_than_ranks_and_nothing_to_train_on(settings) -> None:
    with pytest.raises(
        OfframpError, match=r"^sbm:n=2,k=1,degree=1: 2 vertices, expected at least 4, one for each of workers$"
    ):
        prepare(settings(graph="sbm:n=2,k=1,degree=1", workers=4))
    with pytest.raises(OfframpError, match=r"^tokens 5: expected a multiple of 2 ranks$"):
        layer_bytes(5, 4, 2)


def test_a_loss_that_is_no_number_ends_the_run(settings) -> None:
    job = prepare(settings(workers=1, lr=1e25, dtype="float32", epochs=20)).jobs[0]
    with pytest.raises(OfframpError, match=r"^epoch \d: the loss is \S+; expected a smaller lr$"):
        TransformerTrainer(job, Group()).run()


def test_processes_compute_what_one_process_does(settings) -> None:
    """Over gloo, in float32."""
    changes = {"dtype": "float32", "attention": "reformed", "beta": "0.3", "period": 2}
    lines: list[int] = []
    alone = train(settings(workers=1, **changes))
    trained = train(settings(workers=2, **changes), lambda epoch: lines.append(epoch.epoch))
    assert alone is not None
    assert trained is not None
    assert lines == [1, 2]
    for ours, single in zip(trained.epochs, alone.epochs, strict=True):
        assert ours.loss == pytest.approx(single.loss, abs=1e-5)
    for name, weights in alone.weights.items():
        np.testing.assert_allclose(trained.weights[name], weights, atol=1e-5)
    assert trained.epochs[0].sent_bytes == 2 * 2 * 2 * layer_bytes(trained.tokens[0], 16, 2)
    assert trained.pattern_bytes > 0 == alone.pattern_bytes
