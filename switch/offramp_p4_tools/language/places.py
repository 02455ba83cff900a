# SPDX-License-Identifier: Apache-2.0
"""Positions of names: from a node of the syntax tree to the token that writes its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from offramp_p4.frontend.syntax.lexer import Lexeme
    from offramp_p4.source import Pos

_REACH: Final = 4096
"""Tokens between the beginning of a construct and its name, at most: a type may be long."""
_OPENING, _CLOSING = "([{", ")]}"


class TokenPlaces:
    """The tokens of a program, found by their places.

    Tokens that a macro made stand where the macro is used; the first of them counts.
    """

    def __init__(self, tokens: Sequence[Lexeme]) -> None:
        self._tokens = tokens
        self._index: dict[Pos, int] = {}
        for at, token in enumerate(tokens):
            self._index.setdefault(token.pos, at)

    def name(self, pos: Pos, name: str) -> Pos | None:
        """Position of the first token ``name`` at or behind ``pos``; None if there is none nearby."""
        index = self._find(pos, name)
        return None if index is None else self._tokens[index].pos

    def target(self, pos: Pos, name: str) -> Pos | None:
        """Position of the state in a transition whose keys begin at ``pos``."""
        at = self._index.get(pos)
        if at is None or self._tokens[at + 1].text == ";":
            return self.name(pos, name)
        depth = 0
        while at < len(self._tokens) and (depth or self._tokens[at].text != ":"):
            depth += (self._tokens[at].text in _OPENING) - (self._tokens[at].text in _CLOSING)
            at += 1
        return self.name(self._tokens[min(at, len(self._tokens) - 1)].pos, name)

    def named(self, pos: Pos, names: Sequence[str | None]) -> Mapping[str, Pos]:
        """Positions of the names in ``name = value``, in a list that begins behind ``pos``."""
        positions: dict[str, Pos] = {}
        at = self._index.get(pos)
        for name in names:
            while name is not None and at is not None and at + 1 < len(self._tokens):
                if self._tokens[at].text == name and self._tokens[at + 1].text == "=":
                    positions[name] = self._tokens[at].pos
                    break
                at += 1
        return positions

    def written(self, pos: Pos) -> bool:
        """Whether the token at ``pos`` stands in the source rather than in a macro's body."""
        at = self._index.get(pos)
        return at is not None and not self._tokens[at].hidden

    def until(self, pos: Pos, *ends: str) -> str:
        """The source from ``pos`` to the first of ``ends`` outside of brackets, in one line."""
        at, depth, texts = self._index.get(pos), 0, [""]
        while at is not None and at < len(self._tokens):
            token = self._tokens[at]
            if token.kind == "eof" or (depth <= 0 and token.text in (*ends, *_CLOSING)):
                break
            depth += (token.text in ("(", "[", "{", "<")) - (token.text in (*_CLOSING, ">"))
            texts.append(token.text)
            at += 1
        return _spaced(texts)

    def _find(self, pos: Pos, name: str) -> int | None:
        first = self._index.get(pos)
        if first is None:
            return None
        for at in range(first, min(first + _REACH, len(self._tokens))):
            if self._tokens[at].text == name and self._tokens[at].pos.file == pos.file:
                return at
        return None


_NO_SPACE_BEFORE: Final = frozenset(",;)]><[.(")
_NO_SPACE_AFTER: Final = frozenset(["", "(", "[", "<", ".", "@", "!", "~"])


def _spaced(texts: Sequence[str]) -> str:
    """Tokens with the spaces that people write."""
    out = ""
    for before, text in pairwise(texts):
        tight = text in _NO_SPACE_BEFORE or before in _NO_SPACE_AFTER
        if text == "(" and before in ("=", ","):
            tight = False
        out += text if tight else f" {text}"
    return out
