# SPDX-License-Identifier: Apache-2.0
"""Tells files of Offramp's packages from all others by where the packages lie, not by a checkout's name."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

PACKAGES: Final = ("offramp", "offramp_base", "offramp_cli", "offramp_p4", "offramp_p4_tools", "offramp_sim")


def _folders() -> tuple[str, ...]:
    specs = [spec for name in PACKAGES if (spec := find_spec(name)) is not None]
    return tuple(_ascii(f"{folder}/") for spec in specs for folder in spec.submodule_search_locations or ())


def _ascii(filename: str) -> str:
    return filename.encode("ascii", "backslashreplace").decode("ascii")


_FOLDERS: Final = _folders()


def of_offramp(filename: str) -> bool:
    """Whether a file belongs to one of Offramp's packages; faulthandler escapes what is not ASCII in its name."""
    return _ascii(filename).startswith(_FOLDERS)
