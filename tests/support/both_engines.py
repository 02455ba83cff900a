# SPDX-License-Identifier: Apache-2.0
"""Both engines of the P4 switch for every test that runs programs.

A test folder offers the fixtures by importing them into its ``conftest.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import lru_cache

import pytest

import offramp_p4
from offramp_p4 import PlainSwitch, ir
from offramp_p4.frontend import load_text

MakeSwitch = Callable[..., PlainSwitch]
"""``make_switch(program, **options)``; the program may be its text."""


@pytest.fixture(scope="module", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled programs are kept in a folder of the test run, which its processes share, not in the user's.

    Only for modules that ask for it: what other tests build for minutes stays in the user's from run to run.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield


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
