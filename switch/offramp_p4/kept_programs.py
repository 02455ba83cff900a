# SPDX-License-Identifier: Apache-2.0
"""Programs that the front end has accepted, kept between processes: reading one back takes a fraction of its time.

A program follows from its files, the macros and the front end's code, whose folder is in the positions of its headers.
The key holds the last two, that folder and the file's name; each kept program says which files it was made of and which
it looked for in vain, and counts only while all are so.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from offramp_base.kept_files import KeptFiles
from offramp_base.private_folder import user_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from offramp_p4.ir import Program

KEPT: Final = KeptFiles(
    "programs", lambda: user_cache() / "offramp" / "p4-programs", ".ir", most_files=512, most_bytes=256 << 20
)
"""Programs of this user, ``offramp/p4-programs`` in the user's cache folder."""
HERE: Final = Path(__file__).parent
CODE: Final = (".", "engine/walk.py", "frontend", "frontend/check", "frontend/syntax", "state")
"""Modules and folders of modules, within this package, that decide what a program becomes."""
_LENGTH: Final = struct.Struct("<Q")
_CONTENTS: Final[WeakKeyDictionary[Program, str]] = WeakKeyDictionary()


def kept_program(path: str | Path, include: Sequence[Path], defines: Mapping[str, str] | None) -> Program:
    """The program in a file, as :func:`offramp_p4.frontend.load` gives it.

    Raises:
        P4Error: a fault in the program.
    """
    key = _key(path, include, defines or {})
    kept = KEPT.get(key)
    if kept is not None:
        program = _unpacked(kept)
        if program is not None:
            _CONTENTS[program] = _contents(key, kept)
            return program
    from offramp_p4.frontend import load
    from offramp_p4.frontend.syntax.includes import FolderIncludes

    includes = FolderIncludes(include)
    start = _digest(Path(path))
    program = load(path, includes=includes, defines=defines)
    if start is not None and start == _digest(Path(path)) and not includes.installed:
        _keep(key, {**includes.files, str(Path(path).absolute()): start}, program)
    return program


def kept_compiled(path: str | Path, document: bytes, read: Callable[[bytes, str, None], Program]) -> Program:
    """The program in a document that another compiler has written, as ``read`` gives it.

    Raises:
        OfframpError: ``read`` refuses the document.
    """
    reader = Path(str(sys.modules[read.__module__].__file__)).parent
    code = hashlib.sha256()
    for module in sorted(reader.rglob("*.py")):
        code.update(module.name.encode() + b"\0" + module.read_bytes())
    key = f"{code.hexdigest()} {_key(path, (), {})}"
    kept = KEPT.get(key)
    program = None if kept is None else _unpacked(kept)
    if program is not None and kept is not None:
        _CONTENTS[program] = _contents(key, kept)
        return program
    program = read(document, str(path), None)
    digest = hashlib.sha256(document).hexdigest()
    if digest == _digest(Path(path)):
        _keep(key, {str(Path(path).absolute()): digest}, program)
    return program


def contents_of(program: Program) -> str | None:
    """What a program follows from, in one text: the same of the same program; None: it is not known."""
    return _CONTENTS.get(program)


def _keep(key: str, files: dict[str, str | None], program: Program) -> None:
    try:
        packed = pickle.dumps(program, pickle.HIGHEST_PROTOCOL)
    except RecursionError:  # nested deeper than pickle goes
        return
    names = json.dumps(files).encode()
    kept = _LENGTH.pack(len(names)) + names + packed
    KEPT.put(key, kept)
    _CONTENTS[program] = _contents(key, kept)


def _contents(key: str, kept: bytes) -> str:
    """The key, and the digests of the files that a kept program says it was made of."""
    (size,) = _LENGTH.unpack_from(kept)
    return hashlib.sha256(key.encode() + kept[_LENGTH.size : _LENGTH.size + size]).hexdigest()


def _unpacked(kept: bytes) -> Program | None:
    """The program, if the files that it was made of are what they were."""
    (size,) = _LENGTH.unpack_from(kept)
    start = _LENGTH.size + size
    files: dict[str, str | None] = json.loads(kept[_LENGTH.size : start])
    if any(_digest(Path(name)) != digest for name, digest in files.items()):
        return None
    try:
        program: Program = pickle.loads(memoryview(kept)[start:])  # noqa: S301 - in a folder that is this user's alone
    except RecursionError:
        return None
    return program


def _digest(path: Path) -> str | None:
    """The digest of a regular file's contents; None: there is none."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
    except (OSError, ValueError):
        return None


def _key(path: str | Path, include: Sequence[Path], defines: Mapping[str, str]) -> str:
    parts = [str(HERE), str(path), str(Path(path).absolute()), [str(folder.absolute()) for folder in include]]
    return f"{_code()} {sys.version} {json.dumps([*parts, sorted(defines.items())])}"


def code_files() -> Iterator[Path]:
    """The modules that decide what a program becomes."""
    for name in CODE:
        place = HERE / name
        yield from sorted(place.glob("*.py")) if place.is_dir() else [place]


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for module in code_files():
        digest.update(module.name.encode() + b"\0" + module.read_bytes())
    return digest.hexdigest()
