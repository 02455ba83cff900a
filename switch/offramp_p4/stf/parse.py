# SPDX-License-Identifier: Apache-2.0
"""STF text to commands (p4c, ``tools/stf/stf_parser.py`` and ``backends/bmv2/bmv2stf.py``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NoReturn

from offramp_base.errors import OfframpError

_NAME: Final = r"[A-Za-z_$][\w$]*(?:\[\d+\])?(?:\.[A-Za-z_$][\w$]*(?:\[\d+\])?)*"
_NUMBER: Final = r"0[xX][0-9a-fA-F*]+|0[bB][01*]+|\d+"
_TOKEN: Final = re.compile(
    rf"\s*(?:(?P<quoted>\"[^\"]+\")|(?P<name>{_NAME})|(?P<number>{_NUMBER})|(?P<mark>==|!=|<=|>=|[<>=():,/.]))"
)


RELATIONS: Final = ("==", "!=", "<", "<=", ">", ">=")
"""Comparison operators of ``check_counter``."""
_MAX_DIGITS: Final = 2500
_MAX_PORT_DIGITS: Final = 9
_SHOWN: Final = 80


class StfError(OfframpError):
    """A fault in an STF file; the message begins with ``file:line``."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")


@dataclass(frozen=True, slots=True)
class Match:
    """``key:value`` or ``key:value/length`` as written."""

    key: str
    value: str
    length: int | None = None


@dataclass(frozen=True, slots=True)
class StfActionCall:
    """``action(name:value, ...)``."""

    action: str
    args: dict[str, int]


@dataclass(slots=True)
class StfCommand:
    """One line. Which fields are used depends on ``name``.

    Attributes:
        table: a table, counter, register or meter.
        numbers: the numeric arguments, in order.
        data: packet data as hexadecimal digits, ``*`` and ``$``.
        label: name of the entry, given by ``= ID``.
        check: (what, relation, number) of ``check_counter``.
        rates: (units a microsecond, burst) pairs of a meter.
    """

    name: str
    line: int
    table: str = ""
    numbers: list[int] = field(default_factory=list)
    data: str = ""
    matches: list[Match] = field(default_factory=list)
    priority: int | None = None
    call: StfActionCall | None = None
    label: str = ""
    check: tuple[str, str, int] = ("packets", "==", 0)
    rates: list[tuple[float, int]] = field(default_factory=list)


def parse(text: str, file: str) -> list[StfCommand]:
    """The commands of an STF text.

    Raises:
        StfError: a line that is not a command.
    """
    commands = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        if line:
            commands.append(_Line(file, number, line).command())
    return commands


# Commands with a fixed form: letters stand for a name, a number, any more numbers, meter rates.
_FORMS: Final = {
    "mirroring_add": "nn",
    "mirroring_add_mc": "nn",
    "mirroring_delete": "n",
    "mirroring_get": "n",
    "mc_mgrp_create": "n",
    "mc_node_create": "n+",
    "mc_node_update": "n+",
    "mc_node_associate": "nn",
    "counter_read": "tn",
    "counter_write": "tnnn",
    "register_read": "tn",
    "register_write": "tnn",
    "register_reset": "t",
    "meter_get_rates": "tn",
    "meter_set_rates": "tnr",
    "meter_array_set_rates": "tr",
    "wait": "",
    "no_packet": "",
}


class _Line:
    """A cursor over the tokens of one line."""

    def __init__(self, file: str, number: int, text: str) -> None:
        self.file, self.number = file, number
        word, _, self.rest = text.partition(" ")
        word, tab, more = word.partition("\t")
        self.rest = (more + " " + self.rest).strip() if tab else self.rest.strip()
        self.command_name = word.lower()
        self.tokens: list[tuple[str, str]] = []

    def fail(self, message: str) -> NoReturn:
        raise StfError(self.file, self.number, message)

    def command(self) -> StfCommand:
        command = StfCommand(self.command_name, self.number)
        if self.command_name in {"packet", "expect"}:
            self._packet(command)
            return command
        self._tokenise()
        if self.command_name in _FORMS:
            self._form(command, _FORMS[self.command_name])
        elif self.command_name == "add":
            self._add(command)
        elif self.command_name in {"setdefault", "set_default"}:
            command.name, command.table, command.call = "setdefault", self.take("name"), self._call()
        elif self.command_name in {"remove", "remove_all"}:
            command.name = "remove"
            if self.command_name == "remove" and self.take("name").lower() != "all":
                self.fail('expected "all" after remove')
        elif self.command_name == "check_counter":
            self._check(command)
        else:
            self.fail(f"unknown command {self.command_name}")
        if self.tokens:
            self.fail(f"unexpected {self.tokens[0][1]!r} at the end of {self.command_name}")
        return command

    def _tokenise(self) -> None:
        at = 0
        while at < len(self.rest):
            match = _TOKEN.match(self.rest, at)
            if match is None:
                if not self.rest[at:].strip():
                    break
                self.fail(f"unexpected {self.rest[at:].split()[0]!r}")
            kind = str(match.lastgroup)
            value = match.group(kind)
            self.tokens.append(("name", value[1:-1]) if kind == "quoted" else (kind, value))
            at = match.end()

    def peek(self, value: str) -> bool:
        """Whether the next token is this mark."""
        return bool(self.tokens) and self.tokens[0] == ("mark", value)

    def take(self, kind: str, value: str | None = None) -> str:
        """The next token, which must be of this kind."""
        if not self.tokens or self.tokens[0][0] != kind or (value and self.tokens[0][1] != value):
            actual = repr(self.tokens[0][1]) if self.tokens else "the end of the line"
            self.fail(f"expected {value or f'a {kind}'} in {self.command_name}, found {actual[:_SHOWN]}")
        if kind == "number" and len(self.tokens[0][1]) > _MAX_DIGITS:
            self.fail(f"a number of {len(self.tokens[0][1])} digits in {self.command_name}")
        return self.tokens.pop(0)[1]

    def number_here(self) -> int:
        """The next token as a number."""
        return self.to_int(self.take("number"))

    def to_int(self, text: str) -> int:
        """The value of a number without wildcards."""
        if "*" in text:
            self.fail(f"{text} has wildcards where a value is needed")
        return int(text, 0) if text[:1] == "0" and text[1:2].isalpha() else int(text)

    def _packet(self, command: StfCommand) -> None:
        port, *data = self.rest.split() or [""]
        if not (port.isascii() and port.isdecimal() and len(port) <= _MAX_PORT_DIGITS):
            self.fail(f"expected a port after {self.command_name}, found {port[:_SHOWN]!r}")
        command.numbers = [int(port)]
        command.data = "".join(data).upper()
        allowed = "0123456789ABCDEF" if command.name == "packet" else "0123456789ABCDEF*"
        body = command.data[:-1] if command.name == "expect" and command.data.endswith("$") else command.data
        if wrong := next((c for c in body if c not in allowed), None):
            self.fail(f"{wrong!r} is no packet data")
        if command.name == "packet" and len(body) % 2:
            self.fail("packet data ends in the middle of a byte")

    def _form(self, command: StfCommand, form: str) -> None:
        for letter in form:
            if letter == "t":
                command.table = self.take("name")
            elif letter == "n":
                command.numbers.append(self.number_here())
            elif letter == "+":
                while self.tokens:
                    command.numbers.append(self.number_here())
            else:
                while self.tokens:
                    command.rates.append(self._rate())

    def _rate(self) -> tuple[float, int]:
        rate = self.take("number")
        if not rate.isdecimal():
            self.fail(f"expected a rate in decimals in {self.command_name}, found {rate[:_SHOWN]}")
        if self.peek("."):
            self.take("mark")
            decimals = self.take("number")
            rate += "." + (decimals if decimals.isdecimal() else "")
        self.take("mark", ":")
        return float(rate), self.number_here()

    def _add(self, command: StfCommand) -> None:
        command.table = self.take("name")
        if self.tokens and self.tokens[0][0] == "number":
            command.priority = self.number_here()
        while len(self.tokens) > 1 and self.tokens[1] == ("mark", ":"):
            command.matches.append(self._match())
        command.call = self._call()
        if self.peek("="):
            self.take("mark")
            command.label = self.take("name")

    def _match(self) -> Match:
        key = self.take("name")
        self.take("mark", ":")
        value = self.take("number")
        if not self.peek("/"):
            return Match(key, value)
        self.take("mark")
        return Match(key, value, self.number_here())

    def _call(self) -> StfActionCall:
        action, args = self.take("name"), {}
        self.take("mark", "(")
        while not self.peek(")"):
            name = self.take("name")
            self.take("mark", ":")
            args[name] = self.number_here()
            if not self.peek(")"):
                self.take("mark", ",")
        self.take("mark", ")")
        return StfActionCall(action, args)

    def _check(self, command: StfCommand) -> None:
        command.table = self.take("name")
        self.take("mark", "(")
        if self.tokens and self.tokens[0][0] == "name":
            command.label = self.take("name").removeprefix("$")
        else:
            command.numbers = [self.number_here()]
        self.take("mark", ")")
        if self.tokens:
            what = self.take("name").lower()
            if what not in {"packets", "bytes"}:
                self.fail(f"expected packets or bytes, found {what!r}")
            relation = self.take("mark")
            if relation not in RELATIONS:
                self.fail(f"expected one of {' '.join(RELATIONS)} in {self.command_name}, found {relation}")
            command.check = (what, relation, self.number_here())
