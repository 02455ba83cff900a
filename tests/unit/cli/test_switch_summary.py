# SPDX-License-Identifier: Apache-2.0
"""The summary of ``offramp switch run`` on a terminal of 80 columns: nothing is cut, and faults show."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from offramp_cli.switch import run

COUNTS = ("received", "sent", "dropped", "malformed", "missed", "strangers")


def _summary(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, **faults: int) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    stats = SimpleNamespace(**{count: faults.get(count, 0) for count in COUNTS})
    port = SimpleNamespace(name=name, stats=stats)
    running: Any = SimpleNamespace(ports={1: port}, device=SimpleNamespace(pipeline=None), servers={})
    run._summary(running)
    return capsys.readouterr().out


def test_a_quiet_port(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = _summary("unix:/tmp/port1", capsys, monkeypatch, received=12, sent=7)
    assert [line.split() for line in text.splitlines()] == [
        ["port", "link", "received", "sent"],
        ["1", "unix:/tmp/port1", "12", "7"],
    ]


@pytest.mark.parametrize("name", ["veth0", "unix:/tmp/a-folder-with-a-long-name/and-another-one/port1"])
def test_every_fault_in_full(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = _summary(name, capsys, monkeypatch, **dict.fromkeys(COUNTS, 123456))
    assert max(map(len, text.splitlines())) <= 80
    assert "\N{HORIZONTAL ELLIPSIS}" not in text
    assert all(count in text for count in (*COUNTS, name))
    assert text.count("123456") == len(COUNTS)
