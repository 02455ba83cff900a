# SPDX-License-Identifier: Apache-2.0
"""gNMI paths as text: ``/interfaces/interface[name=1]/state`` (gnmi-path-strings.md of openconfig/reference)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.gnmi.schema import gnmi

_NAME: Final = re.compile(r"[^/\[\]=\\]+")
_KEY: Final = re.compile(r"\[([^=\]\\]+)=((?:[^\]\\]|\\.)*)\]", re.DOTALL)
_MOST: Final = 200
"""Longest path in a message, in characters."""


def parse_path(text: str, origin: str = "") -> Any:
    r"""Parse the text of a ``gnmi.Path``; in keys, a backslash escapes ``]`` and ``\``.

    Raises:
        OfframpError: the text is not a path.
    """
    path = gnmi.Path(origin=origin)
    at = 1 if text.startswith("/") else 0
    while at < len(text):
        name = _NAME.match(text, at)
        if name is None:
            raise OfframpError(f"path {text[:_MOST]!r}: expected /NAME[KEY=VALUE]/NAME")
        element = path.elem.add(name=name[0])
        at = name.end()
        while key := _KEY.match(text, at):
            element.key[key[1]] = re.sub(r"\\(.)", r"\1", key[2], flags=re.DOTALL)
            at = key.end()
        if at < len(text):
            if text[at] != "/":
                raise OfframpError(f"path {text[:_MOST]!r}: expected /NAME[KEY=VALUE]/NAME")
            at += 1
    return path


def path_text(elements: Iterable[Any]) -> str:
    """The text of a path's elements (``gnmi.PathElem``), cut where it is long."""
    out, length = [], 0
    for element in elements:
        keys = "".join(f"[{key}={_escaped(element.key[key])}]" for key in sorted(element.key))
        out.append(f"/{element.name}{keys}")
        length += len(out[-1])
        if length > _MOST:
            break
    text = "".join(out) or "/"
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("]", "\\]")
