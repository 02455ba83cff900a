# SPDX-License-Identifier: Apache-2.0
"""The table of published values: real options, other than ours, and taken by ``--as-published``.

Blind spot: whether a value is the paper's; each cites where the paper has it.
"""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from offramp.published import PUBLISHED, published
from offramp_base import OfframpError
from offramp_base.settings.check import check_field
from offramp_cli.command import Command, imported
from offramp_cli.reference import commands
from offramp_cli.tree import member

PAGE = Path(__file__).parents[2] / "docs" / "reproductions.md"


def command_of(system: str) -> Command:
    node, _ = member(PUBLISHED[system].command.split())
    command = imported(node if isinstance(node, str) else node.itself)
    assert isinstance(command, Command)
    return command


@pytest.mark.parametrize("system", PUBLISHED)
def test_every_value_is_a_good_one_and_not_the_default(system: str) -> None:
    command = command_of(system)
    assert system in command.systems
    for each in PUBLISHED[system].values:
        field = command.fields[each.option]
        check_field(field, each.value)
        assert each.value != field.default, each
        assert each.reason


def test_every_system_of_a_command_has_values() -> None:
    systems = [system for _, command in commands() for system in command.systems]
    assert sorted(systems) == sorted(PUBLISHED)


@pytest.mark.parametrize("system", PUBLISHED)
def test_the_class_of_settings_takes_all_of_them_together(system: str) -> None:
    values = published(system)
    for one in command_of(system).classes:
        names = {field.name for field in dataclasses.fields(one)} & values.keys()
        required = {"job": "gpt3-13b", "setup": "testbed-1", "graph": "karate"}
        more = {f.name: required[f.name] for f in dataclasses.fields(one) if f.name in required}
        if names:
            one(**{name: values[name] for name in names}, **more)


def as_run(*systems: str, **given: Any) -> dict[str, Any]:
    seen: list[Any] = []

    def body(settings: Any) -> None:
        """Take settings."""
        seen.append(settings)

    command = Command(body, ("offramp.dgs.settings:DgsSettings",), "", systems)
    command(graph="karate", **given)
    return dataclasses.asdict(seen[0])


def test_published_values_take_the_place_of_defaults_only() -> None:
    ours, theirs = as_run("dgs"), as_run("dgs", as_published=True, epsilon=0.0)
    assert {name for name in ours if ours[name] != theirs[name]} == {*published("dgs"), "epsilon"}
    assert as_run("dgs", as_published=True, fanout=(5, 5))["fanout"] == (5, 5)
    assert as_run("dgs", "leo", as_published="dgs")["fanout"] == (64, 64)


def test_an_unknown_system_is_refused() -> None:
    with pytest.raises(OfframpError, match="--as-published sylvia: expected one of dgs, leo"):
        as_run("dgs", "leo", as_published="sylvia")
