"""Where the P4 sources are: inside the installed package, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

from offramp.errors import OfframpError

_PACKAGE = Path(__file__).resolve().parent


def p4_root() -> Path:
    """The folder of the P4 sources.

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
