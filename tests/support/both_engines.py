# SPDX-License-Identifier: Apache-2.0
"""Both engines of the P4 switch for every test that runs programs.

A test folder offers the fixtures by importing them into its ``conftest.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pytest

import offramp_p4
from offramp_p4 import PlainSwitch, ir
from offramp_p4.frontend import load_text

MakeSwitch = Callable[..., PlainSwitch]
"""``make_switch(program, **options)``; the program may be its text."""


_load = lru_cache(256)(load_text)
"""Both engines, and tests that run the same text, share what the front end made of it: a switch only reads it."""


@pytest.fixture(scope="session", params=["python", "native"])
def engine(request: pytest.FixtureRequest) -> str:
    """The name of each engine in turn."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def make_switch(engine: str) -> MakeSwitch:
    """A switch with each engine in turn."""

    def make(program: ir.Program | str, **options: object) -> PlainSwitch:
        loaded = _load(program) if isinstance(program, str) else program
        return offramp_p4.make_switch(loaded, engine, **options)

    return make
