# SPDX-License-Identifier: Apache-2.0
"""``offramp train`` alone trains on the full graph; a system's name behind it takes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from offramp_base.errors import OfframpError
from offramp_cli import train
from offramp_cli.app import app
from offramp_cli.dgs import train as dgs


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The training that would have run, and its graph."""
    seen_calls: list[tuple[str, str]] = []

    def noting(what: str) -> Callable[..., None]:
        def note(settings: Any, *_: Any) -> None:
            seen_calls.append((what, settings.graph))

        return note

    monkeypatch.setattr(train.train, "body", noting("full graph"))
    monkeypatch.setattr(dgs.dgs, "body", noting("dgs"))
    return seen_calls


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ([], ("full graph", "digits")),
        (["--graph", "karate"], ("full graph", "karate")),
        (["dgs"], ("dgs", "digits")),
        (["dgs", "--graph", "karate"], ("dgs", "karate")),
    ],
)
def test_one_system_runs(calls: list[tuple[str, str]], line: list[str], call: tuple[str, str]) -> None:
    assert CliRunner().invoke(app, ["train", *line]).exit_code == 0
    assert calls == [call]


def test_options_before_the_name_are_refused(calls: list[tuple[str, str]]) -> None:
    refused = CliRunner().invoke(app, ["train", "--graph", "karate", "dgs"])
    assert isinstance(refused.exception, OfframpError)
    assert str(refused.exception) == "--graph: options go after the system's name: train dgs …"
    assert not calls
