# SPDX-License-Identifier: Apache-2.0
"""YAML, TOML and JSON that someone else may have written: bounded in size, nesting and aliases, no name twice.

What these parsers accept by themselves can take all memory (a few aliases of aliases), the stack (nested brackets) or
all time (``/dev/zero``); here it costs one line, without the file's name, which callers put before it.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final, NoReturn, TypeGuard

import yaml

from offramp_base.arguments import control_character
from offramp_base.errors import OfframpError
from offramp_base.memory import available_bytes

MOST_BYTES: Final = 1 << 20
"""Largest size in bytes of a file that people write by hand."""
_LONGEST_LINE: Final = 1024  # of TOML: tomllib's time grows with the square of the dots in a key
_TEXT_BYTES: Final = 12  # of memory for each byte of a text that becomes a list of lines
_UNKNOWN_MEMORY: Final = 8 << 30
_JSON_CONTROL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\(?:b|u00[01])")
"""An escape sequence, as :mod:`json` writes it, of a control character other than blanks and line ends."""
_NUMBER_TAGS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
MOST_NESTING: Final = 50
MOST_NODES: Final = 200_000
"""Values in a YAML document, each alias counted as what it stands for."""
_MOST_LONG_NODES: Final = 2_000_000
"""The same of a document that programs write, longer than :data:`MOST_BYTES`."""
_LONGEST_NUMBER: Final = 128
"""Characters of a number in YAML: in base 60 its value takes time that grows with their square, and in base 16 it may
have more digits than Python prints."""
MOST_NUMBER: Final = 1e24
"""Beyond every byte, bit per second and picosecond there is, so that products of a few numbers stay finite."""


def read_text(path: Path, most_bytes: int | None = MOST_BYTES) -> str:
    """The text of a regular file of UTF-8 text; without ``most_bytes`` it may be as long as memory allows.

    Raises:
        OfframpError: it cannot be read, is too long, or is no such file.
    """
    if most_bytes is None:
        most_bytes = (available_bytes() or _UNKNOWN_MEMORY) // _TEXT_BYTES
    try:
        return read_bytes(path, most_bytes).decode("utf-8")
    except UnicodeDecodeError:
        raise OfframpError("cannot be read: it is not UTF-8 text") from None


def read_bytes(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file.

    Raises:
        OfframpError: it cannot be read, is longer than ``most_bytes``, or is no such file.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            # One byte more shows that a file grows, or has no size, as those of /proc.
            content = file.read(min(size, most_bytes) + 1)
            while size < len(content) <= most_bytes and (more := file.read(1 << 16)):
                content += more
    except (OSError, ValueError) as error:
        raise OfframpError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > most_bytes:
        raise OfframpError(f"cannot be read: it has more than {most_bytes} bytes")
    return content


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file; a device or a pipe, which may have no end, is refused.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
        ValueError: no path at all.
    """
    # A pipe without a writer would block in open().
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "expected a regular file")
    return os.fdopen(descriptor, "rb")


def parse_yaml(text: str) -> Any:
    """The one document in ``text``.

    Raises:
        OfframpError: names the line.
    """
    try:
        return yaml.load(text, BoundedLoader)  # noqa: S506  # a subclass of SafeLoader
    except yaml.YAMLError as error:
        raise OfframpError(f"line {line_of(error)}: not YAML: {problem_of(error)}") from None
    except (ValueError, OverflowError):  # an escape beyond Unicode
        raise OfframpError("not YAML: a character that does not exist") from None


def line_of(error: yaml.YAMLError) -> int:
    """The line that an error of the YAML parser is about; 1 where it does not say."""
    mark = getattr(error, "problem_mark", None)
    return mark.line + 1 if mark is not None else 1


def problem_of(error: yaml.YAMLError) -> str:
    """The message of an error that the YAML parser raised, in one line."""
    return getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"


def parse_toml(text: str) -> dict[str, Any]:
    """The tables in ``text``.

    Raises:
        OfframpError: names the line.
    """
    for number, line in enumerate(_checked(text).splitlines(), 1):
        if len(line) > _LONGEST_LINE:
            raise OfframpError(f"not TOML: line {number} has more than {_LONGEST_LINE} characters")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OfframpError(f"not TOML: {error}") from None
    except RecursionError:
        raise OfframpError(f"not TOML: nested deeper than {MOST_NESTING}") from None
    _check_nesting(content, "not TOML")
    if _has_controls(json.dumps(content, ensure_ascii=False, default=str)):
        raise OfframpError("not TOML: a control character in a text")
    return content


def parse_json(text: str | bytes, deepest: int = MOST_NESTING) -> Any:
    """The value in ``text``; NaN and infinities, which are not JSON, and nesting deeper than ``deepest`` are refused.

    Raises:
        OfframpError: names the line.
    """
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise OfframpError(f"expected JSON: nested deeper than {deepest}") from None
    except ValueError as error:
        problem = "an integer has too many digits" if "int_max_str_digits" in str(error) else error
        raise OfframpError(f"expected JSON: {problem}") from None
    _check_nesting(content, "expected JSON", deepest)
    written = json.dumps(content, ensure_ascii=False)
    if not _is_unicode(written):
        raise OfframpError("expected JSON: half of a surrogate pair")
    if _has_controls(written):
        raise OfframpError("expected JSON: without control characters in texts")
    return content


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value of a document is a number up to :data:`MOST_NUMBER`; true, false and NaN are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST_NUMBER


class _Bounds(yaml.composer.Composer, yaml.constructor.SafeConstructor):
    """Limits of a YAML loader; a name that occurs twice in a mapping is an error."""

    _most_nodes = MOST_NODES
    peek_event: Callable[..., Any]
    check_event: Callable[..., bool]

    def _begin(self) -> None:
        self._sizes: dict[int, int] = {}
        self._nodes = 0
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node; counts it, and what an alias stands for, against the limits."""
        mark, alias = self.peek_event().start_mark, self.check_event(yaml.AliasEvent)
        before = self._nodes
        self._nodes += 1
        self._depth += 1
        if self._depth > MOST_NESTING:
            raise yaml.composer.ComposerError(None, None, f"nested deeper than {MOST_NESTING}", mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(node, yaml.ScalarNode) and not _is_unicode(node.value):
            raise yaml.composer.ComposerError(None, None, "half of a surrogate pair", mark)
        if isinstance(node, yaml.ScalarNode) and control_character(node.value):
            raise yaml.composer.ComposerError(None, None, "a control character in a text", mark)
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBER_TAGS and len(node.value) > _LONGEST_NUMBER:
            raise yaml.composer.ComposerError(None, None, f"a number of more than {_LONGEST_NUMBER} characters", mark)
        if alias:
            if id(node) not in self._sizes:
                raise yaml.composer.ComposerError(None, None, "an alias of what is around it", mark)
            self._nodes += self._sizes[id(node)]
        else:
            self._sizes[id(node)] = self._nodes - before
        if self._nodes > self._most_nodes:
            raise yaml.composer.ComposerError(None, None, f"more than {self._most_nodes} values", mark)
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node; an error names the line if the tag does not fit the value."""
        try:
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(None, None, f"expected a valid {kind}", node.start_mark) from None

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        """A mapping whose names differ."""
        first: dict[Any, int] = {}
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                continue
            name, line = (key_node.tag, key_node.value), key_node.start_mark.line + 1
            if name in first:
                problem = f"{key_node.value} is there twice, first in line {first[name]}"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            first[name] = line
        return super().construct_mapping(node, deep)


class BoundedLoader(_Bounds, yaml.SafeLoader):
    """PyYAML's safe loader with limits, for files that people write."""

    def __init__(self, text: str) -> None:
        super().__init__(_checked(text))
        self._begin()


_FAST: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


class LongLoader(_Bounds, _FAST):  # type: ignore[misc,valid-type]
    """The same for longer files, which programs write: by libyaml where it is there, whose messages differ."""

    def __init__(self, text: str) -> None:
        self._most_nodes = MOST_NODES if len(text) <= MOST_BYTES else _MOST_LONG_NODES
        yaml.composer.Composer.__init__(self)
        _FAST.__init__(self, text)
        self._begin()


def _has_controls(written: str) -> bool:
    """Whether a text in a document that :mod:`json` has written has control characters."""
    return control_character(written) is not None or _JSON_CONTROL.search(written) is not None


def _is_unicode(text: str) -> bool:
    """Whether UTF-8 can encode ``text``; escape sequences can express text that it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _checked(text: str) -> str:
    if len(text) > MOST_BYTES:
        raise OfframpError(f"longer than {MOST_BYTES} characters")
    return text


def _check_nesting(content: Any, form: str, deepest: int = MOST_NESTING) -> None:
    level = [content]
    for _ in range(deepest + 1):
        holders = [item for item in level if isinstance(item, dict | list)]
        if not holders:
            return
        level = [item for holder in holders for item in (holder.values() if isinstance(holder, dict) else holder)]
    raise OfframpError(f"{form}: nested deeper than {deepest}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"{twice} is there twice in one object")
    return content


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
