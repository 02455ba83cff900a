# SPDX-License-Identifier: Apache-2.0
"""Documents that are wrong: one line that says what and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_p4.frontend import load
from offramp_p4_tools.bmv2.read import from_json
from offramp_p4_tools.bmv2.write import to_json

SOURCE = Path(__file__).parents[1] / "stf" / "tables.p4"

pytestmark = pytest.mark.p4


@pytest.fixture
def document() -> dict[str, Any]:
    return json.loads(json.dumps(to_json(load(SOURCE))))  # type: ignore[no-any-return]


def _refusal(text: str) -> str:
    with pytest.raises(OfframpError) as refused:
        from_json(text, "p.json")
    message = str(refused.value)
    assert message.startswith("p.json: ")
    assert "\n" not in message
    return message


def _table(document: dict[str, Any]) -> dict[str, Any]:
    return next(t for t in document["pipelines"][0]["tables"] if t["key"])  # type: ignore[no-any-return]


CASES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "version": (lambda d: d["__meta__"].update(version=[3, 0]), "__meta__.version: version 3"),
    "cycle": (
        lambda d: [
            t["next_tables"].update(dict.fromkeys(t["next_tables"], t["name"])) for t in d["pipelines"][0]["tables"]
        ],
        "comes after itself",
    ),
    "unknown action": (lambda d: _table(d).update(action_ids=[999]), "no action with id 999"),
    "unknown next": (
        lambda d: _table(d).update(next_tables=dict.fromkeys(_table(d)["next_tables"], "nowhere")),
        "which is not there",
    ),
    "unknown header type": (lambda d: d["headers"][0].update(header_type="x"), "no header type 'x'"),
    "unknown field": (lambda d: _table(d)["key"][0].update(target=[d["headers"][0]["name"], "zz"]), "no field 'zz'"),
    "twice the id": (lambda d: d["actions"][1].update(id=d["actions"][0]["id"]), "is there twice"),
    "huge field": (lambda d: d["header_types"][1]["fields"][0].__setitem__(1, 1 << 40), "is not in"),
    "negative size": (lambda d: _table(d).update(max_size=-1), "max_size: -1 is not in"),
    "two lpm keys": (
        lambda d: _table(d).update(key=[{**_table(d)["key"][0], "match_type": "lpm"}] * 2),
        "more than one lpm key",
    ),
    "a number as name": (lambda d: _table(d).update(name=7), "expected a string"),
    "no pipelines": (lambda d: d.pop("pipelines"), "'pipelines' is missing"),
    "no ingress": (lambda d: d["pipelines"][0].update(name="x"), "no pipeline 'ingress'"),
    "unknown primitive": (lambda d: d["actions"][0].update(primitives=[{"op": "fly", "parameters": []}]), "'fly'"),
    "jump too far": (
        lambda d: d["actions"][0].update(
            primitives=[{"op": "_jump", "parameters": [{"type": "hexstr", "value": "0x9"}]}]
        ),
        "a jump to 9",
    ),
    "externs": (lambda d: d.update(extern_instances=[{"name": "x"}]), "extern_instances[0]"),
    "unknown state": (lambda d: d["parsers"][0].update(init_state="nowhere"), "no state 'nowhere'"),
    "error numbers": (lambda d: d["errors"].append(["Far", 1 << 30]), "is not in"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_line_with_the_place(case: str, document: dict[str, Any]) -> None:
    change, words = CASES[case]
    change(document)
    assert words in _refusal(json.dumps(document))


def test_truncated(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    for length in (0, 1, 10, len(text) // 2, len(text) - 1):
        _refusal(text[:length])


def test_deep_nesting(document: dict[str, Any]) -> None:
    _refusal("[" * 100_000)
    expression: Any = {"type": "hexstr", "value": "0x1"}
    for _ in range(400):
        expression = {"type": "expression", "value": {"op": "~", "left": None, "right": expression}}
    document["pipelines"][0]["conditionals"].append(
        {"name": "deep", "id": 77, "expression": expression, "true_next": None, "false_next": None}
    )
    _refusal(json.dumps(document))


def test_a_graph_whose_paths_multiply_stays_small(document: dict[str, Any]) -> None:
    """Forty diamonds, each with a short cut to the next but one, have more paths than anything can write down."""
    one, kind = {"type": "hexstr", "value": "0x1"}, {"type": "field", "value": ["standard_metadata", "instance_type"]}
    true = {"type": "expression", "value": {"op": "==", "left": one, "right": kind}}
    count = 40
    document["pipelines"][0]["tables"] = []
    document["pipelines"][0]["conditionals"] = [
        {"name": f"n{i}", "id": i, "expression": true, "true_next": f"n{i + 1}" if i + 1 < count else None,
         "false_next": f"n{i + 2}" if i + 2 < count else None}
        for i in range(count)
    ]  # fmt: skip
    document["pipelines"][0]["init_table"] = "n0"
    program = from_json(json.dumps(document), "p.json")
    from offramp_p4.switch import Switch

    Switch(program).process_one(0, bytes(64))
