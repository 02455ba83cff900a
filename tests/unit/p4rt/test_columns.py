# SPDX-License-Identifier: Apache-2.0
"""Entries by columns are the bytes of the same entries one by one."""

from __future__ import annotations

import numpy as np
import pytest

from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.p4rt.columns import Insertions
from offramp_base.p4rt.entities import EntityFactory
from offramp_base.p4rt.p4info import P4InfoIndex
from offramp_base.p4rt.schema import v1
from offramp_p4.frontend import load_text
from offramp_p4.runtime.p4info import generate


@pytest.fixture(scope="module")
def make() -> EntityFactory:
    return EntityFactory(P4InfoIndex(generate(load_text(p4_text("switchgnn/v1model.p4", {})))))


def names(make: EntityFactory) -> tuple[str, dict[str, int], str, dict[str, int]]:
    """A table with an action, and the widths of keys and parameters."""
    table = next(t for t in make.index.tables.by_id.values() if t.preamble.name.endswith("v2agg"))
    action = next(a for a in make.index.actions.by_id.values() if a.preamble.id == table.action_refs[0].id)
    keys = {field.name: field.bitwidth for field in table.match_fields}
    return table.preamble.name, keys, action.preamble.name, {p.name: p.bitwidth for p in action.params}


def drawn(widths: dict[str, int], n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Numbers of all lengths in bytes."""
    return {name: rng.integers(0, 1 << rng.integers(1, width + 1, n)) for name, width in widths.items()}


@pytest.mark.full
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_bytes_are_those_of_single_entries(make: EntityFactory, most: int) -> None:
    rng = np.random.default_rng(most)
    table, keys, action, params = names(make)
    of_keys, of_params = drawn(keys, 150, rng), drawn(dict(reversed(params.items())), 150, rng)
    insertions = Insertions(make, table, of_keys, action, of_params)
    assert len(insertions) == 150
    updates = [
        v1.Update(
            type=v1.Update.INSERT,
            entity=make.table_entry(
                table,
                {name: int(column[i]) for name, column in of_keys.items()},
                action,
                {name: int(column[i]) for name, column in of_params.items()},
            ),
        )
        for i in range(150)
    ]
    parts = list(insertions.parts(most))
    assert len(parts) == -(-150 // most)
    assert b"".join(parts) == v1.WriteRequest(updates=updates).SerializeToString()


@pytest.mark.full
def test_no_entries(make: EntityFactory) -> None:
    table, keys, action, params = names(make)
    rng = np.random.default_rng(0)
    assert list(Insertions(make, table, drawn(keys, 0, rng), action, drawn(params, 0, rng)).parts(10)) == []


@pytest.mark.parametrize("bad", [-1, 1 << 32])
def test_a_number_that_does_not_fit_is_refused_as_that_of_a_single_entry(make: EntityFactory, bad: int) -> None:
    table, keys, action, params = names(make)
    rng = np.random.default_rng(1)
    of_keys, of_params = drawn(keys, 9, rng), drawn(params, 9, rng)
    name = next(iter(of_params))
    of_params[name][4] = bad
    with pytest.raises(OfframpError) as by_columns:
        Insertions(make, table, of_keys, action, of_params)
    with pytest.raises(OfframpError) as alone:
        make.table_entry(
            table, {k: int(c[4]) for k, c in of_keys.items()}, action, {k: int(c[4]) for k, c in of_params.items()}
        )
    assert str(by_columns.value) == str(alone.value)


def test_names_that_are_missing_or_unknown_are_refused(make: EntityFactory) -> None:
    table, keys, action, params = names(make)
    rng = np.random.default_rng(2)
    of_keys, of_params = drawn(keys, 3, rng), drawn(params, 3, rng)
    with pytest.raises(OfframpError, match="expected each key, all of them exact"):
        Insertions(make, table, dict(list(of_keys.items())[1:]), action, of_params)
    with pytest.raises(OfframpError, match="is missing"):
        Insertions(make, table, of_keys, action, {})
    with pytest.raises(OfframpError, match="parameter"):
        Insertions(make, table, of_keys, action, of_params | {"other": of_keys[next(iter(keys))]})
