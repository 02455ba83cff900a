# SPDX-License-Identifier: Apache-2.0
"""Command lines written for other programs: known options are read, others are accepted and named once."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from offramp_base.errors import OfframpError

Takes = Literal["nothing", "value", "maybe"]
"""Whether an option takes a value; ``maybe``: it does if the next word is not an option."""


@dataclass
class CommandWords:
    """A command line.

    Attributes:
        options: values by option; an empty text for one without.
        positions: words that are no options.
        unknown: options that are not known, and those known to mean nothing here.
    """

    options: dict[str, list[str]] = field(default_factory=dict)
    positions: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def last(self, name: str) -> str | None:
        """The last value of an option, which wins."""
        return self.options[name][-1] if name in self.options else None

    def number(self, name: str) -> int | None:
        """The last value of an option as a number.

        Raises:
            OfframpError: the value is not a number.
        """
        text = self.last(name)
        if text is None:
            return None
        if not text.isascii() or not text.isdecimal():
            raise OfframpError(f"{name} {text}: expected a number")
        return int(text)

    def name_unknown(self, program: str) -> None:
        """Name once, on standard error, the options that were accepted without effect."""
        if self.unknown:
            names = ", ".join(dict.fromkeys(self.unknown))
            sys.stderr.write(f"{program}: accepted without effect: {names}\n")


def read_words(
    words: Iterable[str], known: Mapping[str, Takes], ignored: Mapping[str, Takes], aliases: Mapping[str, str]
) -> CommandWords:
    """Read a command line.

    Args:
        words: without the program's name.
        known: options, as ``--long`` or ``-x``, with what they take.
        ignored: options that are accepted without effect.
        aliases: other spellings of ``known``.

    Raises:
        OfframpError: an option lacks its value.
    """
    out, todo = CommandWords(), list(words)
    while todo:
        word = todo.pop(0)
        if word == "--":
            continue
        if not word.startswith("-") or word == "-":
            out.positions.append(word)
            continue
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if (
            not word.startswith("--")
            and len(word) > 2
            and aliases.get(word[:2], word[:2]) in known
            and word not in ignored
        ):
            name, equals, value = word[:2], "=", word[2:]
        name = aliases.get(name, name)
        takes = known.get(name, ignored.get(name, "nothing"))
        if not equals and takes != "nothing":
            follows = bool(todo) and not todo[0].startswith("-")
            if follows:
                value = todo.pop(0)
            elif takes == "value":
                raise OfframpError(f"{name}: expected a value")
        if name in known:
            out.options.setdefault(name, []).append(value)
        else:
            out.unknown.append(name)
    return out
