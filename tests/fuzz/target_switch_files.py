# SPDX-License-Identifier: Apache-2.0
"""Files beside the switch: rates of the cost model, translation tables, BF-RT's description of a device."""

from __future__ import annotations

import random
from pathlib import Path

from fuzzing import render
from offramp.bfrt.info import BfrtInfo
from offramp.switchgnn.cost import load_rates
from offramp_p4.runtime.translation import read_tables

NAME = "rates, translations and BF-RT's JSON"
_RATES = {"delay_s": 1e-6, "round_s": 0.001, "overlap": True}
_TABLES = {"port_id_t": {"Ethernet0": 1, "Ethernet4": 2}}
_FIELD = {"name": "f", "id": 1, "type": {"type": "bytes", "width": 32}, "repeated": False}
_BFRT = {
    "tables": [
        {
            "name": "pipe.t",
            "id": 7,
            "size": 64,
            "key": [_FIELD, {"name": "g", "id": 2, "type": {"type": "uint32"}}],
            "data": [{"singleton": _FIELD}],
            "action_specs": [{"name": "a", "id": 3, "data": [_FIELD]}],
        }
    ]
}


def run(rng: random.Random) -> None:
    """One file of one kind."""
    kind = rng.randrange(3)
    if kind == 0:
        load_rates(render.write(Path("rates.json"), render.document(rng, _RATES, "json")))
    elif kind == 1:
        read_tables(render.write(Path("tables.json"), render.document(rng, _TABLES, "json")))
    else:
        info = BfrtInfo.parse(render.document(rng, _BFRT, "json"))
        assert info.by_id(7) is None or info.by_id(7).id == 7  # type: ignore[union-attr]
