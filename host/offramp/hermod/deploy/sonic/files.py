# SPDX-License-Identifier: Apache-2.0
"""A switch that is elsewhere: its configuration from a file, what is to be done there into files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offramp.hermod.deploy.sonic.device import config_of
from offramp.hermod.deploy.sonic.patch import Operation, diff
from offramp.hermod.deploy.sonic.removal import without
from offramp.hermod.deploy.sonic.tables import Config
from offramp_base.documents import read_text
from offramp_base.ending.files import write_text, written
from offramp_base.errors import OfframpError


class SonicFiles:
    """A folder with ``NAME.json`` (the tables, for ``config load``), and the patches there and back.

    Args:
        folder: where they go.
        name: name of the objects, and of the files in lower case.
        config_db: the switch's ``config_db.json``; None: a switch without any configuration.

    Raises:
        OfframpError: the file cannot be read.
    """

    def __init__(self, folder: Path, name: str, config_db: Path | None) -> None:
        self.name = f"files {folder / name.lower()}*.json"
        self._folder, self._object = folder, name
        self._before = {} if config_db is None else _read(config_db)
        stem = name.lower()
        self._tables, self._patch, self._back = (
            folder / f"{stem}{kind}.json" for kind in ("", ".patch", ".undo-patch")
        )

    def read(self) -> Config:
        """The switch's configuration with what the files would add."""
        if not self._patch.exists():
            return self._before
        return _applied(self._before, self._read_patch())

    def apply(self, operations: list[Operation], after: Config) -> None:
        """Write all files, or none; without anything to add the files vanish.

        Raises:
            OfframpError: one cannot be written.
        """
        del operations
        patch = diff(self._before, after)
        if not patch:
            contents: dict[Path, Any] = dict.fromkeys((self._patch, self._tables, self._back))
        else:
            own = without(after, self._object)
            tables = {
                table: {key: fields for key, fields in rows.items() if own.get(table, {}).get(key) != fields}
                for table, rows in after.items()
                if own.get(table) != rows
            }
            contents = {self._tables: tables, self._back: diff(after, self._before), self._patch: patch}
        _write_all(contents)

    def _read_patch(self) -> list[Operation]:
        try:
            patch: list[Operation] = json.loads(self._patch.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise OfframpError(f"{self._patch}: cannot be read: {error}") from None
        return patch


def _read(path: Path) -> Config:
    try:
        text = read_text(path, None)
    except OfframpError as error:
        raise OfframpError(f"{path}: {error}") from None
    return config_of(text, str(path))


def _applied(config: Config, patch: list[Operation]) -> Config:
    after: Any = json.loads(json.dumps(config))
    for operation in patch:
        *parents, last = (p.replace("~1", "/").replace("~0", "~") for p in operation["path"].split("/")[1:])
        place = after
        try:
            for part in parents:
                place = place[part]
            if operation["op"] == "remove":
                del place[last]
            else:
                place[last] = operation["value"]
        except (KeyError, TypeError):
            raise OfframpError(f"patch: {operation['path']}: made for another configuration") from None
    result: Config = after
    return result


@contextmanager
def holding(path: Path | None, content: Any) -> Iterator[None]:
    """A JSON file gets ``content``, or is removed if that is None; if the context fails, it gets back what it had.

    Raises:
        OfframpError: it cannot be written.
    """
    if path is None:
        yield
        return
    had = {path: path.read_bytes() if path.is_file() else None}
    _write_all({path: content})
    try:
        yield
    except BaseException:
        _restore(had)
        raise


def _write_all(contents: dict[Path, Any]) -> None:
    had: dict[Path, bytes | None] = {}
    try:
        for path, content in contents.items():
            had[path] = path.read_bytes() if path.is_file() else None
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_text(path, json.dumps(content, indent=2) + "\n")
    except OSError as error:
        _restore(had)
        raise OfframpError(f"{path}: cannot be written: {error.strerror}") from None


def _restore(had: dict[Path, bytes | None]) -> None:
    for path, old in had.items():
        if old is not None:
            with written(path) as file:
                file.write(old)
        elif path.is_file():
            path.unlink()
