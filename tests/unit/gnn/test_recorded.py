# SPDX-License-Identifier: Apache-2.0
"""Passes that repeat a recorded one against passes in which every rule decides: equal to the bit, whatever changes.

Blind spot: one rank; test_plain.py repeats passes on several.
"""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import gnn_plain  # noqa: E402
from offramp import gnn  # noqa: E402
from offramp.gnn import recorded  # noqa: E402
from offramp_base.errors import OfframpError  # noqa: E402

STEPS = 7


class Degrees(torch.nn.Module):
    """A mean over neighbours: the degrees and their inverses depend on the graph alone."""

    def __init__(self, change=None):
        super().__init__()
        self.lin, self.change, self.epoch = torch.nn.Linear(gnn_plain.WIDTH, 3).double(), change, -1

    def forward(self, x, edge_index):
        self.epoch += 1
        row, col = edge_index[0], edge_index[1]
        ones = torch.ones(edge_index.shape[1], dtype=x.dtype)
        degree = torch.zeros(x.shape[0], dtype=x.dtype).scatter_add_(0, col, ones) + x[:, 0].abs()
        loops = (row != col).to(x.dtype) + x[row, 1]
        if self.change is not None and self.epoch >= 4:
            x, degree, loops = self.change(x, degree, loops)
        if isinstance(x, torch.Tensor) and x.shape[1] == gnn_plain.WIDTH:
            x = self.lin(x)
        message = torch.nn.functional.dropout(x[row] * loops.unsqueeze(-1), 0.3, self.training)
        return torch.zeros_like(x).index_add(0, col, message) / (degree.unsqueeze(-1) + 1)


def steps(make, before=None, *, again: bool, monkeypatch) -> list[torch.Tensor]:
    """Outputs and gradients of seven steps; ``before`` changes things before a step."""
    part = gnn.partition(gnn_plain.graph())
    torch.manual_seed(7)
    model = gnn.distribute(make(), part, seed=3)
    results = []
    with monkeypatch.context() as patch:
        if not again:
            patch.setattr(recorded.Recordings, "of", lambda *_, **__: None)
        for step in range(STEPS):
            if before is not None:
                before(step, part, model)
            model.zero_grad()
            out = model(part.x, part.edge_index)
            results.append(out.detach().clone())
            if out.requires_grad:
                out.square().sum().backward()
                results += [p.grad.clone() for p in model.parameters() if p.grad is not None]
        if again:
            results.append(sum(call.kept is not None or call.direct for call in calls(model)))
    return results


def calls(model):
    return [call for each in model._recordings._by_key.values() if each for call in each.calls]


def equal(make, monkeypatch, before=None) -> int:
    """Compares both to the bit; the number of calls that a recording repeats."""
    *repeated, count = steps(make, before, again=True, monkeypatch=monkeypatch)
    decided = steps(make, before, again=False, monkeypatch=monkeypatch)
    assert len(repeated) == len(decided)
    assert all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(repeated, decided, strict=True))
    return count


def written(step, part, model):
    if step == 4:
        part.x.mul_(2)
    if step == 5:
        part.edge_index[0, :9] = 3  # other loops


def evaluated(step, part, model):
    model.train(step % 3 != 2)
    torch.set_grad_enabled(step != 5)


def differentiated(step, part, model):
    part.x.requires_grad_(step == 4)


@pytest.fixture(autouse=True)
def settings():
    yield
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("before", [None, written, evaluated, differentiated])
def test_changes_of_mode_and_data(before, monkeypatch) -> None:
    assert equal(Degrees, monkeypatch, before) > 5


CHANGES = {
    "another function": lambda x, d, w: (x.exp(), d, w),
    "another shape": lambda x, d, w: (x[:, :2], d, w),
    "another type": lambda x, d, w: (x.float()[:, :2], d.float(), w.float()),
    "another value": lambda x, d, w: (x, d * 3, w),
    "a write into what is kept": lambda x, d, w: (x, d.zero_(), w.fill_(2)),
    "rows of a mask": lambda x, d, w: (x, d + x[x[:, 2] > 0].sum(), w),
    "numbers of rows": lambda x, d, w: (x, d + torch.zeros(x.shape[0], dtype=d.dtype).add(1), w),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_model_that_takes_another_way_from_the_fourth_epoch(name: str, monkeypatch) -> None:
    equal(lambda: Degrees(CHANGES[name]), monkeypatch)


def test_a_model_that_takes_another_way_in_every_pass(monkeypatch) -> None:
    class Turns(Degrees):
        def forward(self, x, edge_index):
            x = x * (self.epoch + 2) if self.epoch % 2 else x + x.sum(0)
            return super().forward(x, edge_index)

    equal(Turns, monkeypatch)


class Sizes(torch.nn.Module):
    """Numbers of rows that follow from data, and tensors that differ from pass to pass without a call."""

    def __init__(self):
        super().__init__()
        self.lin, self.epoch = torch.nn.Linear(gnn_plain.WIDTH, 3).double(), -1

    def forward(self, x, edge_index):
        self.epoch += 1
        row, col = edge_index[0], edge_index[1]
        ends = torch.ones(edge_index.shape[1], dtype=x.dtype)[row != col]
        some = x[x[:, 2] > self.epoch / 10]
        given = self.lin.weight.t() if self.epoch < 4 else x
        out = self.lin(x) * ends.shape[0] + some.shape[0] + given.shape[0]
        return torch.zeros_like(out).index_add(0, col, out[row])


@pytest.mark.parametrize("before", [None, written])
def test_numbers_of_rows_that_follow_from_data(before, monkeypatch) -> None:
    equal(Sizes, monkeypatch, before)


def test_tensors_of_other_shapes_without_a_call_between(monkeypatch) -> None:
    class Wide(Degrees):
        def forward(self, x, edge_index):
            x, wide = x if self.epoch < 4 else self.wide, x
            return super().forward(wide, edge_index) * x.shape[1]

    def before(step, part, model):
        model.module.wide = torch.cat([part.x, part.x], 1)
        model.module.wide.__dict__.update(part.x.__dict__)  # tagged as the rows of vertices that it has

    equal(Wide, monkeypatch, before)


def test_autocast_and_default_types_within_a_pass(monkeypatch) -> None:
    class Cast(Degrees):
        def forward(self, x, edge_index):
            with torch.autocast("cpu", torch.bfloat16, enabled=self.epoch >= 3):
                wide = torch.mm(x.float(), torch.ones(gnn_plain.WIDTH, 2))
            torch.set_default_dtype(torch.float64 if self.epoch >= 5 else torch.float32)
            thirds = (edge_index[0] != edge_index[1]).long() / 3
            torch.set_default_dtype(torch.float32)
            thirds = torch.zeros(x.shape[0], dtype=thirds.dtype).index_add(0, edge_index[1], thirds)
            return super().forward(x, edge_index)[:, :2] * wide + thirds.unsqueeze(-1)

    equal(Cast, monkeypatch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, d, w: (x, d.data_ptr(), w), "data_ptr shows the memory"),
        (lambda x, d, w: (x + torch.ones(7, 1), d, w), "7 rows meet 50 vertices|size of tensor"),
        (lambda x, d, w: (torch.func.vmap(torch.sin)(x), d, w), "vmap"),
    ],
)
def test_what_was_refused_is_refused_in_a_pass_that_repeats(change, message: str, monkeypatch) -> None:
    with pytest.raises((OfframpError, RuntimeError), match=message):
        steps(lambda: Degrees(change), again=True, monkeypatch=monkeypatch)


def test_models_of_pyg_repeat_nearly_everything(monkeypatch) -> None:
    pyg = pytest.importorskip("torch_geometric.nn")

    def make():
        return pyg.GCN(gnn_plain.WIDTH, 4, 2, 3, dropout=0.5, norm="batch").double()

    equal(make, monkeypatch)
    part = gnn.partition(gnn_plain.graph())
    model = gnn.distribute(make(), part)
    for _ in range(3):
        model(part.x, part.edge_index)
    assert sum(call.kept is not None for call in calls(model)) > 10
    assert sum(not (call.always or call.signs) for call in calls(model)) < len(calls(model)) / 10


def test_copies_of_a_module_have_recordings_of_their_own() -> None:
    part = gnn.partition(gnn_plain.graph())
    model = gnn.distribute(Degrees(), part)
    for _ in range(3):
        model(part.x, part.edge_index)
    assert calls(model)
    assert copy.deepcopy(model._recordings)._by_key == {}
