# SPDX-License-Identifier: Apache-2.0
"""Texts of files that become arguments of other programs; each is checked when its file is read.

None begins with ``-``, so no program takes it for an option, and none has control characters, so no terminal obeys it.

>>> host_name("gpu-1.rack.example")
'gpu-1.rack.example'
>>> interface("eth0; reboot")
Traceback (most recent call last):
ValueError: expected the name of an interface: at most 15 letters, digits, dots, colons, underscores and hyphens
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Final, NewType

HostName = NewType("HostName", str)
HostAddress = NewType("HostAddress", str)
Interface = NewType("Interface", str)
PathUnder = NewType("PathUnder", str)
Port = NewType("Port", int)

_LABEL: Final = "[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_HOST: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_HOST_LENGTH: Final = 253
_INTERFACE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]{0,14}")  # IFNAMSIZ is 16, with the terminating zero
_LAST_PORT: Final = 0xFFFF
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that terminals and pages obey rather than show; blanks and line ends are none of them."""
_LABEL_TEXT: Final = re.compile("[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


def host_name(text: str) -> HostName:
    """A host's name (RFC 1123, underscores within labels too) or its IP address.

    Raises:
        ValueError: something else.
    """
    if _HOST.fullmatch(text) and len(text) <= _HOST_LENGTH:
        return HostName(text)
    try:
        return HostName(host_address(text))
    except ValueError:
        raise ValueError("expected a host's name, such as gpu-1.rack, or an IP address") from None


def host_address(text: str) -> HostAddress:
    """An IP address without a zone.

    Raises:
        ValueError: something else.
    """
    try:
        ip_address("" if "%" in text else text)
    except ValueError:
        raise ValueError("expected an IP address, such as 10.0.0.1") from None
    return HostAddress(text)


def interface(text: str) -> Interface:
    """A network interface's name, as Linux takes it.

    Raises:
        ValueError: it is too long, or has other characters.
    """
    if not _INTERFACE.fullmatch(text):
        raise ValueError(
            "expected the name of an interface: at most 15 letters, digits, dots, colons, underscores and hyphens"
        )
    return Interface(text)


def port(text: str) -> Port:
    """A port of TCP or UDP.

    Raises:
        ValueError: no number from 1 to 65535.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(_LAST_PORT)) and 1 <= int(text) <= _LAST_PORT):
        raise ValueError(f"expected a port: 1 to {_LAST_PORT}")
    return Port(int(text))


def service(text: str) -> str:
    """The address of a server: ``HOST:PORT``, ``[IPV6]:PORT`` or ``unix:PATH``.

    Raises:
        ValueError: something else.
    """
    if text.startswith("unix:"):
        return f"unix:{path(text.removeprefix('unix:'))}"
    host, _, number = text.rpartition(":")
    bare = host[1:-1] if host[:1] == "[" and host[-1:] == "]" else host
    try:
        (host_name if bare is host else host_address)(bare)
        port(number)
    except ValueError:
        raise ValueError("expected HOST:PORT, [IPV6]:PORT or unix:PATH") from None
    return text


def path(text: str) -> str:
    """A file's path; ``./-x`` names a file that begins with a hyphen.

    Raises:
        ValueError: nothing, an option, or a path with control characters.
    """
    if not _is_word(text):
        raise ValueError("expected a path that does not begin with a hyphen, without control characters")
    return text


def path_under(folder: Path) -> Callable[[str], PathUnder]:
    """A parser of relative paths that lead to what lies in ``folder``, whatever links are there."""

    def parse(text: str) -> PathUnder:
        path(text)
        top = folder.resolve()
        if Path(text).is_absolute() or not (top / text).resolve().is_relative_to(top):
            raise ValueError(f"expected a path in {folder}")
        return PathUnder(text)

    return parse


def label(text: str) -> str:
    """A name that is an argument, a file's name and a label everywhere: letters, digits, dots, hyphens, underscores.

    Raises:
        ValueError: other characters, more than 63 of them, or dots and hyphens at an end.
    """
    if not _LABEL_TEXT.fullmatch(text):
        raise ValueError("expected letters, digits, dots and hyphens")
    return text


def word(text: str) -> str:
    """A text of one line that no program takes for an option.

    Raises:
        ValueError: it is empty, begins with a hyphen, or has control characters.
    """
    if not _is_word(text):
        raise ValueError("expected one line that does not begin with a hyphen, without control characters")
    return text


def control_character(text: str) -> str | None:
    """The first character that a terminal or a page would obey rather than show; blanks and line ends are none."""
    match = _CONTROL.search(text)
    return match and match[0]


def visible(text: str) -> str:
    """The text with escape sequences of Python for characters that a terminal would obey."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def _is_word(text: str) -> bool:
    return bool(text) and text[0] != "-" and not set(text) & set("\t\n\r\f") and control_character(text) is None
