# SPDX-License-Identifier: Apache-2.0
"""Location of the P4 sources, and one of them as a self-contained text for a P4Runtime device configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from offramp_base.errors import OfframpError

_PACKAGE = Path(__file__).resolve().parent
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*$', re.MULTILINE)


def p4_root() -> Path:
    """The folder of the P4 sources: inside the installed package, or at the top of a checkout.

    Raises:
        OfframpError: the installation lacks them.
    """
    for folder in (_PACKAGE / "p4src", _PACKAGE.parent.parent / "p4"):
        if folder.is_dir():
            return folder
    raise OfframpError("P4 sources: not in this installation; expected the folder offramp/p4src")


def p4_source(name: str) -> Path:
    """Path of one source, such as ``switchgnn/v1model.p4``.

    Raises:
        OfframpError: there is no such source.
    """
    path = p4_root() / name
    if not path.is_file():
        raise OfframpError(f"P4 source {name}: no such file in {p4_root()}")
    return path


def p4_text(name: str, defines: Mapping[str, int | str] | None = None) -> str:
    """A source with its own includes expanded and macros defined at the top; system includes stay unexpanded.

    Raises:
        OfframpError: there is no such source, or it includes one that is missing.
    """
    head = "".join(f"#define {macro} {value}\n" for macro, value in (defines or {}).items())
    return head + _inlined(p4_source(name))


def _inlined(path: Path) -> str:
    def replace(match: re.Match[str]) -> str:
        target = (path.parent / match[1]).resolve()
        if not target.is_file():
            raise OfframpError(f"P4 source {path.name}: includes {match[1]}, which is missing")
        return _inlined(target)

    return _INCLUDE.sub(replace, path.read_text(encoding="utf-8"))
