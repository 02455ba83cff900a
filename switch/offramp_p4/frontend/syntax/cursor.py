# SPDX-License-Identifier: Apache-2.0
"""A cursor over tokens that knows which names are types, as P4's grammar requires."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from offramp_p4.frontend.syntax.ast import Annot
from offramp_p4.source import P4Error, Pos

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from offramp_p4.frontend.syntax.lexer import Lexeme

_WORDS = """
    abstract action apply bit bool break const continue control default else entries enum error exit extern false
    for header header_union if in inout int key list match_kind out package parser return select state string
    struct switch table this transition true tuple type typedef value_set varbit void actions priority
"""
KEYWORDS = frozenset(_WORDS.split())
# Words with a meaning only where the grammar expects them: they are ordinary names elsewhere.
SOFT = KEYWORDS & {
    "actions", "apply", "entries", "key", "state", "type", "priority", "in", "for", "list", "break", "continue",
}  # fmt: skip
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Cursor:
    """Token stream with one-token look-ahead, backtracking and the scopes of type names."""

    def __init__(self, tokens: Sequence[Lexeme]) -> None:
        self._tokens = tokens
        self._at = 0
        self._types: list[dict[str, bool]] = [{}]

    # --- tokens --------------------------------------------------------------------------------------------

    @property
    def token(self) -> Lexeme:
        """The next token."""
        return self._tokens[self._at]

    @property
    def pos(self) -> Pos:
        """Position of the next token."""
        return self._tokens[self._at].pos

    def ahead(self, n: int = 1) -> Lexeme:
        """The token ``n`` places behind the next one."""
        return self._tokens[min(self._at + n, len(self._tokens) - 1)]

    def next(self) -> Lexeme:
        """Take a token."""
        t = self._tokens[self._at]
        if t.kind != "eof":
            self._at += 1
        return t

    def at(self, *texts: str) -> bool:
        """Whether the next token is one of these words or operators."""
        t = self._tokens[self._at]
        return t.text in texts and t.kind in ("op", "id")

    def at_word(self) -> bool:
        """Whether the next token is an identifier or keyword."""
        return self._tokens[self._at].kind == "id"

    def accept(self, text: str) -> bool:
        """Take the next token if it is ``text``."""
        if self.at(text):
            self._at += 1
            return True
        return False

    def expect(self, text: str, where: str = "") -> Lexeme:
        """Take ``text`` or fail."""
        if not self.at(text):
            raise P4Error(self._gap(), f"expected '{text}'{' ' + where if where else ''}, found {self.token}")
        return self.next()

    def _gap(self) -> Pos:
        """Position of something missing: behind the token before, if the next one stands on another line."""
        if self._at == 0 or (here := self._tokens[self._at - 1]).pos.file != self.pos.file:
            return self.pos
        if self.token.kind != "eof" and here.pos.line == self.pos.line:
            return self.pos
        return Pos(here.pos.file, here.pos.line, here.pos.column + len(here.text))

    def name(self, what: str) -> str:
        """Take an identifier."""
        t = self.token
        if t.kind != "id" or t.text == "_" or (t.text in KEYWORDS and t.text not in SOFT):
            raise P4Error(t.pos, f"expected {what}, found {t}")
        return self.next().text

    def mark(self) -> int:
        """A place to come back to."""
        return self._at

    def reset(self, mark: int) -> None:
        """Go back to a mark."""
        self._at = mark

    # --- type names ----------------------------------------------------------------------------------------

    @contextmanager
    def scope(self, type_names: Sequence[str] = ()) -> Iterator[None]:
        """Names declared inside are forgotten behind it; ``type_names`` are types in it."""
        self._types.append(dict.fromkeys(type_names, True))
        try:
            yield
        finally:
            self._types.pop()

    def declare(self, name: str, *, is_type: bool) -> None:
        """Declare a name: from here on it is a type or not."""
        self._types[-1][name] = is_type

    def is_type_name(self, name: str) -> bool:
        """Whether ``name`` stands for a type here."""
        for scope in reversed(self._types):
            if name in scope:
                return scope[name]
        return False

    # --- annotations ---------------------------------------------------------------------------------------

    def annotations(self) -> list[Annot]:
        """Any number of annotations."""
        out = []
        while self.at("@"):
            pos = self.next().pos
            name = self.next().text
            tokens: list[Lexeme] = []
            structured = False
            if name == "pragma":
                name = self.next().text
                line = pos.line
                while self.token.kind != "eof" and self.pos.line == line:
                    tokens.append(self.next())
            elif self.at("(", "["):
                structured = self.at("[")
                tokens = self._balanced()
            out.append(Annot(pos, name, tokens, structured))
        return out

    def _balanced(self) -> list[Lexeme]:
        opening = self.next()
        stack, out = [_CLOSING[opening.text]], []
        while stack:
            t = self.next()
            if t.kind == "eof":
                raise P4Error(opening.pos, f"this '{opening.text}' is never closed")
            if t.kind == "op" and t.text in _CLOSING:
                stack.append(_CLOSING[t.text])
            elif t.kind == "op" and t.text in _CLOSING.values():
                if t.text != stack.pop():
                    raise P4Error(t.pos, f"unexpected {t}")
                if not stack:
                    break
            out.append(t)
        return out
