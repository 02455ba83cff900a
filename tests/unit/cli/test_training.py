# SPDX-License-Identifier: Apache-2.0
"""``offramp train`` alone trains on the full graph; a system's name behind it takes over."""

from __future__ import annotations

import pytest
import typer

from offramp_base.errors import OfframpError
from offramp_cli.training import Systems


def training(calls: list[tuple[str, str]]) -> typer.Typer:
    app = typer.Typer(cls=Systems, invoke_without_command=True)

    @app.callback()
    def full_graph(graph: str = "digits") -> None:
        calls.append(("full graph", graph))

    @app.command()
    def dgs(graph: str = "digits") -> None:
        calls.append(("dgs", graph))

    return app


@pytest.mark.parametrize(
    ("line", "call"),
    [
        ([], ("full graph", "digits")),
        (["--graph", "karate"], ("full graph", "karate")),
        (["dgs"], ("dgs", "digits")),
        (["dgs", "--graph", "karate"], ("dgs", "karate")),
    ],
)
def test_one_system_runs(line: list[str], call: tuple[str, str]) -> None:
    calls: list[tuple[str, str]] = []
    with pytest.raises(SystemExit, match="0"):
        training(calls)(line)
    assert calls == [call]


def test_options_before_the_name_are_refused() -> None:
    calls: list[tuple[str, str]] = []
    with pytest.raises(OfframpError, match=r"^--graph: options stand behind the system's name: train dgs …$"):
        training(calls)(["--graph", "karate", "dgs"])
    assert not calls
