# SPDX-License-Identifier: Apache-2.0
"""The compiled selector against the one in plain Python. Blind to what both read alike in the specification."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leo_selector import ModelSelector
from leo_tables import random_table
from offramp.leo.selection import HOLD, Policy, RequestDependency, Selector, Table
from offramp.leo.selection.layout import PS, UNIT, Tolerance
from offramp.leo.selection.learning import OVERTAKING
from offramp.leo.selection.scores import CLEARLY
from offramp_base.errors import OfframpError

DRAWN = (Policy.UNIFORM, Policy.WEIGHTED)


def golden(policy: Policy = Policy.PAPER_LITERAL) -> Selector:
    return Selector(Table.disjoint([2000, 2500], [200, 300]), policy)


def test_khat_transitions_of_the_specification() -> None:
    selector = golden()
    times = [(2400, 1), (2400, 2), (2400, 3), (2000, 0)]
    assert selector.choose(0, 0, None, 0) == 0
    for row, (jct, khat) in enumerate(times[:2]):
        selector.choose(row + 1, 0, None, 0)
        selector.finished(row, jct, jct, 0)
        assert selector.khat.tolist() == [khat, 0]
    assert selector.choose(3, 0, None, 0) == 0  # 2.4 against 2.5
    selector.finished(2, 2400, 2400, 0)
    assert selector.choose(4, 0, None, 0) == 1  # 2.6 against 2.5
    selector.finished(3, 2000, 2000, 0)
    assert selector.khat.tolist() == [0, 0]
    assert selector.choose(5, 0, None, 0) == 0


def test_a_jct_within_the_tolerance_tells_of_no_queue() -> None:
    selector = Selector(
        Table.disjoint([2000, 2500], [200, 300]), Policy.PAPER_LITERAL, tolerance=Tolerance(0.01, resolution_ns=50)
    )
    selector.choose(0, 0, None, 0)
    selector.finished(0, 2050, 9000, 0)
    assert selector.khat.tolist() == [0, 0]
    selector.choose(0, 0, None, 0)
    selector.finished(0, 2051, 9000, 0)
    assert selector.khat.tolist() == [1, 0]


def kvs() -> Table:
    base = np.array([[2000.0, 2500.0], [np.nan, 2500.0]])
    dependency = (RequestDependency.ADDR, RequestDependency.ADDR)
    return Table.disjoint(base, [[200, 300], [0, 300]], types=("GET", "PUT"), dependency=dependency)


def test_requests_of_one_key_go_one_path_and_those_that_cannot_wait_in_order() -> None:
    selector = Selector(kvs())
    assert selector.choose(0, 0, 7, 0) == 0
    assert selector.choose(1, 0, 7, 0) == 0
    assert selector.choose(2, 1, 7, 0) == HOLD  # PUT cannot go where the GETs are
    assert selector.choose(3, 0, 7, 0) == HOLD  # nor may a GET overtake it
    assert selector.choose(4, 1, 8, 0) == 1
    assert selector.path_of(2) == HOLD
    assert selector.finished(1, 2000, 3000, 5) == ()
    assert selector.finished(0, 2000, 3000, 6) == [(2, 1), (3, 1)]
    assert selector.path_of(0) is None
    assert selector.outstanding.tolist() == [0, 3]


def test_reads_of_one_key_go_where_they_like_but_not_past_a_write() -> None:
    table = Table.disjoint(
        [[2000, 2500], [2600, 2500]],
        [[2000, 500], [2000, 500]],
        types=("GET", "PUT"),
        dependency=(RequestDependency.ADDR,) * 2,
        reads=(True, False),
    )
    selector = Selector(table, Policy.OUTSTANDING)
    assert [selector.choose(row, 0, 7, 0) for row in range(2)] == [0, 1]
    assert selector.choose(2, 1, 7, 0) == HOLD  # the reads before it are on two paths
    assert selector.choose(3, 0, 7, 0) == HOLD
    assert selector.finished(0, 2000, 3000, 5) == ()
    assert selector.finished(1, 2500, 3000, 6) == [(2, 1), (3, 1)]
    assert selector.choose(4, 0, 7, 6) == 1  # behind the write
    assert selector.finished(2, 2500, 3000, 7) == ()
    assert selector.choose(5, 0, 7, 7) == 0


def test_a_failed_path_gives_its_requests_away_in_order() -> None:
    selector = Selector(kvs())
    for row, kind in enumerate((0, 0, 1)):
        selector.choose(row, kind, 7, 0)
    assert selector.set_down({0}, 1) == ()
    assert [selector.reroute(row, 1) for row in (0, 1)] == [1, 1]
    assert selector.choose(3, 0, 9, 1) == 1
    assert selector.set_down({0, 1}, 2) == ()
    assert [selector.reroute(row, 2) for row in (0, 1, 3)] == [HOLD] * 3
    assert selector.choose(4, 0, 9, 2) == HOLD
    assert selector.set_down({0}, 3) == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]


def test_without_a_key_requests_wait_only_while_all_paths_are_down() -> None:
    selector = golden()
    selector.set_down({0, 1}, 0)
    assert [selector.choose(row, 0, None, 0) for row in range(3)] == [HOLD] * 3
    assert selector.set_down({0}, 1) == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.choose(4096, 0, 1, 0), "request 4096: expected a number below 4096"),
        (lambda s: s.choose(0, 2, 1, 0), "type 2: expected 0 to 1"),
        (lambda s: s.choose(0, 0, None, 0), "type GET: expected a key"),
        (lambda s: (s.choose(0, 0, 1, 0), s.choose(0, 0, 1, 0)), "request 0: it is under way already"),
        (lambda s: s.finished(0, 1, 1, 1), "request 0: it is not under way"),
        (lambda s: s.reroute(0, 1), "request 0: it is not under way"),
        (lambda s: s.set_down({2}, 1), "path 2: expected 0 to 1"),
        (lambda s: s.choose_many([0, 1, 1], [0, 0, 0], [1, 2, 3], 0), "request 1: it is under way already"),
    ],
)
def test_misuse(call: object, message: str) -> None:
    with pytest.raises(OfframpError, match=message):
        call(Selector(kvs()))  # type: ignore[operator]


def test_a_batch_is_its_requests_one_after_the_other() -> None:
    one, many = Selector(kvs()), Selector(kvs())
    rng = np.random.default_rng(1)
    kinds, keys = rng.integers(0, 2, 50), rng.integers(0, 20, 50)
    paths = many.choose_many(np.arange(50), kinds, keys, 0)
    assert paths.tolist() == [one.choose(i, int(kinds[i]), int(keys[i]), 0) for i in range(50)]
    assert (many.memory == one.memory).all()


def test_weighted_draws_follow_the_rates_of_the_paths() -> None:
    selector = Selector(Table.disjoint([1, 1], [1 / 0.230, 1 / 0.718]), Policy.WEIGHTED, rows=20000)
    paths = selector.choose_many(np.arange(20000), np.zeros(20000), np.zeros(20000), 0)
    assert (paths == 0).mean() == pytest.approx(23 / 94.8, abs=0.01)


def actions(rng: np.random.Generator, table: Table, steps: int) -> Iterator[tuple[str, int, int, int, int]]:
    now = 0
    for _ in range(steps):
        now += int(rng.exponential(300))
        what = str(rng.choice(["choose"] * 10 + ["finish"] * 9 + ["reroute", "down"]))
        yield what, int(rng.integers(0, 60)), int(rng.integers(0, len(table.types))), int(rng.integers(0, 6)), now


@pytest.mark.full
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([p for p in Policy if p not in DRAWN]))
def test_the_compiled_selector_equals_the_model(seed: int, policy: Policy) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(seed)
    tolerance = Tolerance(0.02, 3, 6000)
    selector = Selector(table, policy, rows=40, tolerance=tolerance)
    model = ModelSelector(table, policy, tolerance)
    for what, pick, kind, key, now in actions(rng, table, 400):
        under_way = [r for r, q in model.requests.items() if q.path is not None]
        row = pick % 40
        if what == "choose" and row not in model.requests:
            assert selector.choose(row, kind, key, now) == model.choose(row, kind, key, now * PS)
        elif what == "finish" and under_way:
            row = under_way[pick % len(under_way)]
            jct = -1 if pick == 0 else int(rng.integers(0, 4000))
            expected = model.finished(row, jct * PS, (jct + 5000) * PS, now * PS)
            assert list(selector.finished(row, jct, jct + 5000, now)) == expected
        elif what == "reroute" and under_way:
            row = under_way[pick % len(under_way)]
            assert selector.reroute(row, now) == model.reroute(row, now * PS)
        elif what == "down":
            down = set(np.flatnonzero(rng.random(len(table.paths)) < 0.4).tolist())
            assert list(selector.set_down(down, now)) == model.set_down(down, now * PS)
        assert selector.outstanding.tolist() == [p.outstanding for p in model.paths]
        assert [x * PS for x in selector.backlog_ns] == pytest.approx([r.backlog for r in model.resources])
    assert selector.scale.tolist() == [r.scale / UNIT for r in model.resources]


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_both_learn_the_same_from_a_queue_that_is_slower_or_faster_than_believed(factor: float) -> None:
    table = Table.disjoint([2000, 2500], [200, 300])
    selector, model = Selector(table, rows=400), ModelSelector(table, Policy.LOOKAHEAD)
    rng = np.random.default_rng(3)
    free, under_way, now = [0, 0], [], 0
    for i in range(4000):
        now += int(rng.exponential(160 * factor))
        while under_way and (under_way[0][0] <= now or len(under_way) == 399):
            at, row, jct, e2e = under_way.pop(0)
            assert list(selector.finished(row, jct, e2e, at)) == model.finished(row, jct * PS, e2e * PS, at * PS)
        row = next(r for r in range(i % 400, i % 400 + 400) if r % 400 not in model.requests) % 400
        path = selector.choose(row, 0, None, now)
        assert path == model.choose(row, 0, None, now * PS)
        service = round((200, 300)[path] * factor)
        start = max(now, free[path])
        free[path] = start + service
        jct = start - now + (1800, 2200)[path] + service
        e2e = jct + int(rng.integers(3000, 9000))
        under_way.append((now + e2e, row, jct, e2e))
        under_way.sort()
    assert selector.scale.tolist() == [r.scale / UNIT for r in model.resources]
    assert (abs(selector.scale - factor) < 0.1 + abs(1 - factor) / 2).all()  # it stops where waits are foreseen to half


@pytest.mark.parametrize("burst", [1, 16])
def test_both_learn_the_same_where_requests_overtake_each_other(burst: int) -> None:
    """A network that jitters before the queues: no scale is learned, and the work under way counts as the wait."""
    table = Table.disjoint([2000, 2500], [200, 300])
    selector, model = Selector(table, rows=1000), ModelSelector(table, Policy.LOOKAHEAD)
    rng = np.random.default_rng(5)
    free, came, path_of = [0, 0], {}, {}
    events = [(125 * i * burst, 0, row) for i in range(1000 // burst) for row in range(i * burst, (i + 1) * burst)]
    counted = 0
    while events:
        now, what, row = heapq.heappop(events)
        if what == 0:
            path_of[row] = selector.choose(row, 0, None, now)
            assert path_of[row] == model.choose(row, 0, None, now * PS)
            came[row] = now, int(rng.integers(1000, 8000))
            heapq.heappush(events, (now + came[row][1], 1, row))
        elif what == 1:
            path = path_of[row]
            free[path] = max(now, free[path]) + (200, 300)[path]
            heapq.heappush(events, (free[path] + (1800, 2200)[path], 2, row))
        else:
            sent, away = came[row]
            assert list(selector.finished(row, now - sent - away, now - sent, now)) == []
            assert model.finished(row, (now - sent - away) * PS, (now - sent) * PS, now * PS) == []
            counted += CLEARLY * model.miss_model > model.miss_count
    assert selector.scale.tolist() == [r.scale / UNIT for r in model.resources]
    assert min(r.overtaking for r in model.resources) >= OVERTAKING
    assert (selector.scale <= 1).all()
    assert counted > 200
