# SPDX-License-Identifier: Apache-2.0
"""The engine that a switch gets, and the reason that it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from offramp_base.errors import OfframpError
from offramp_p4 import engines, make_switch
from offramp_p4.frontend import load, load_text
from p4_programs import program

pytestmark = pytest.mark.p4

PLAIN = program("sm.egress_spec = sm.ingress_port;")
NOT_NATIVE = program("bit<64> r; random(r, 64w0, 64w1);")
TNA = next((Path(__file__).parent / "tna" / "programs").glob("*.p4"))


@pytest.mark.parametrize("engine", ["auto", "native", "python"])
def test_every_engine_forwards(engine: str) -> None:
    switch = make_switch(load_text(PLAIN), engine, seed=3, cpu_port=64, max_passes=10)
    assert switch.process_one(5, b"frame") == [(5, b"frame")]
    assert switch.engine == ("python" if engine == "python" else "native")
    assert switch.engine_reason == ("executes this program" if engine == "auto" else "asked for")
    assert switch.cpu_port == 64


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (PLAIN, {"trace": lambda _: None}, "a trace needs the Python engine"),
        (NOT_NATIVE, {}, r"x\.p4:.*: not supported: random numbers of 64 bits"),
    ],
)
def test_auto_falls_back_with_a_reason(text: str, options: dict[str, Any], reason: str) -> None:
    loaded = load_text(text, "x.p4")
    switch = make_switch(loaded, **options)
    assert switch.engine == "python"
    with pytest.raises(OfframpError, match=reason) as caught:
        make_switch(loaded, "native", **options)
    assert switch.engine_reason in str(caught.value).replace("error: ", "")


@pytest.mark.full
def test_tna_runs_in_machine_code() -> None:
    switch = make_switch(load(TNA), recirculation_ports=[10])
    assert (switch.engine, switch.engine_reason) == ("native", "executes this program")


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    loaded = load_text(PLAIN)
    switch = make_switch(loaded)
    assert (switch.engine, switch.engine_reason) == ("python", "llvmlite is not installed (pip install llvmlite)")
    with pytest.raises(OfframpError, match=r"^native engine: llvmlite is not installed"):
        make_switch(loaded, "native")


def test_unknown_engine() -> None:
    with pytest.raises(OfframpError, match=r"^engine 'rust': expected one of auto, native, python$"):
        make_switch(load_text(PLAIN), "rust")


@pytest.mark.parametrize("engine", ["auto", "native", "python"])
def test_bad_options_are_errors_on_every_engine(engine: str) -> None:
    with pytest.raises(OfframpError, match="max_passes is 0"):
        make_switch(load_text(PLAIN), engine, max_passes=0)
