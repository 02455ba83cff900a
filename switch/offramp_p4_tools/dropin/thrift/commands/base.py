# SPDX-License-Identifier: Apache-2.0
"""The common base of commands of bmv2's run-time command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO, TYPE_CHECKING, Any, Final

from offramp_p4_tools.dropin.thrift.catalogue import (
    ActionInfo,
    Catalogue,
    InputError,
    TableInfo,
    find,
    octets,
)

if TYPE_CHECKING:
    from offramp_p4_tools.dropin.thrift.client import ThriftClient

Command = Callable[["CommandSession", list[str]], None]
COMMANDS: Final[dict[str, Command]] = {}


class CommandSession:
    """The context of commands: the switch, its tables, and where output goes."""

    def __init__(self, client: ThriftClient, catalogue: Catalogue, out: IO[str]) -> None:
        self._client, self.known, self._out = client, catalogue, out

    def say(self, text: object = "") -> None:
        """Write a line."""
        self._out.write(f"{text}\n")

    def ask(self, name: str, **arguments: Any) -> Any:
        """Call a method of the service that has it."""
        service = (
            "simple_pre_lag" if name.startswith("bm_mc") else "standard" if name.startswith("bm_") else "simple_switch"
        )
        return self._client.call(service, name, **arguments)

    def table(self, name: str) -> TableInfo:
        """The table of a name."""
        return find(self.known.tables, name, "table")


LACKING: Final = {"shell": "run it in a shell of your own"}
"""Commands of bmv2's that are not here, and the reason; of others it is the switch that says what it lacks."""


def command(least: int, most: int | None = None, name: str | None = None) -> Callable[[Command], Command]:
    """Register a command that takes ``least`` to ``most`` words, by the function's name unless ``name`` is given."""

    def register(function: Command) -> Command:
        def checked(s: CommandSession, args: list[str]) -> None:
            if len(args) < least:
                raise InputError("Insufficient number of args")
            if most is not None and len(args) > most:
                raise InputError(f"Wrong number of args, expected {most} but got {len(args)}")
            function(s, args)

        COMMANDS[name or function.__name__] = checked
        return function

    return register


def whole(text: str, name: str) -> int:
    """A word as a number."""
    try:
        return int(text, 0)
    except ValueError:
        raise InputError(f"Bad format for {name}, expected integer") from None


def values_of(action: ActionInfo, words: list[str]) -> list[bytes]:
    """The values of the parameters of an action."""
    if len(words) != len(action.params):
        raise InputError(f"Action {action.name} needs {len(action.params)} parameters")
    return [octets(word, width) for word, (_, width) in zip(words, action.params, strict=True)]


def action_of(actions: Mapping[str, ActionInfo], name: str, owner: str) -> ActionInfo:
    """The action of a name, among those of its owner."""
    if name in actions:
        return actions[name]
    candidates = [a for n, a in actions.items() if n.endswith(f".{name}")]
    if len(candidates) != 1:
        raise InputError(f"{owner} has no action {name}")
    return candidates[0]


def colons(data: list[bytes]) -> str:
    """Values as the octets that they consist of."""
    return "\t".join(value.hex(":") for value in data)


def show_data(s: CommandSession, name: str, data: list[bytes]) -> None:
    """Write an action with its values."""
    s.say(f"Action entry: {name} - {', '.join(value.hex() for value in data)}")


def priority_of(table: TableInfo, words: list[str]) -> tuple[list[str], dict[str, int]]:
    """Words without the priority behind them, and the options of an entry."""
    if not table.has_priorities:
        return words, {"priority": 0}
    if not words or not words[-1].isdecimal():
        raise InputError("Table is ternary, but could not extract a valid priority from args")
    return words[:-1], {"priority": int(words[-1])}


def split_key(words: list[str]) -> tuple[list[str], list[str]]:
    """Split a command's words into keys and those after ``=>``."""
    at = words.index("=>") if "=>" in words else len(words)
    return words[:at], words[at + 1 :]
