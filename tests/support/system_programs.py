# SPDX-License-Identifier: Apache-2.0
"""The program that carries several systems, small, beside the systems' own programs with the same sizes."""

from __future__ import annotations

from functools import cache

from offramp.p4src import p4_source
from offramp_p4 import PlainSwitch, ir, make_switch
from offramp_p4.frontend import load

SHARED = "job/v1model.p4"
PAGES = 4
_GNN = {"AGGREGATORS": "512", "FANOUT_ENTRIES": "4096", "SLOT_ENTRIES": "2048", "OWNER_ENTRIES": "1024"}
_SIZES = {
    SHARED: _GNN | {"PAGES": str(PAGES), "SWITCHGNN_SEGMENTS": "2"},
    "switchgnn/v1model.p4": _GNN | {"SEGMENTS": "2"},
    "allreduce/v1model.p4": {"PAGES": str(PAGES)},
}


@cache
def program(name: str) -> ir.Program:
    """A program by its path in ``p4``."""
    return load(p4_source(name), defines=_SIZES.get(name, {}))


def fresh(name: str, engine: str) -> PlainSwitch:
    """A switch that has nothing but a program."""
    switch = _switch(name, engine)
    switch.reset()
    return switch


@cache
def _switch(name: str, engine: str) -> PlainSwitch:
    return make_switch(program(name), engine)
