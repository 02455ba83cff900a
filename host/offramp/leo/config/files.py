# SPDX-License-Identifier: Apache-2.0
"""Configurations read from one or several files, and those that ship with the package."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from offramp.cluster.read import cluster_of
from offramp.leo.config.check import check
from offramp.leo.config.models import Config
from offramp_base.errors import OfframpError
from offramp_base.settings.source import Place, SourceFile, parse_source, read_source

APPLICATIONS = ("kvs", "dfs", "ebs", "dml")
HARDWARE = ("direct", "on-path", "off-path")


def builtin(name: str) -> Path:
    """Path of a file that ships with the package: an application or a hardware model.

    Raises:
        OfframpError: there is none of that name.
    """
    if name not in APPLICATIONS + HARDWARE:
        raise OfframpError(f"{name}: expected a .yaml file or one of {', '.join(APPLICATIONS + HARDWARE)}")
    return Path(str(files("offramp.leo") / "builtin" / f"{name}.yaml"))


def load_config(given: Sequence[str | Path]) -> Config:
    """Read files and built-in parts, which together must give each of hardware, paths and application once.

    Raises:
        OfframpError: one line with file and line.
    """
    sources = [read_source(_find(name)) for name in given]
    return _join(sources)


def parse_config(text: str, name: str = "config.yaml") -> Config:
    """A configuration from the text of one file.

    Raises:
        OfframpError: one line with file and line.
    """
    return _join([parse_source(text, name)])


def _find(name: str | Path) -> Path:
    path = Path(name)
    return path if path.suffix in (".yaml", ".yml") or path.is_file() else builtin(str(name))


def _join(sources: Sequence[SourceFile]) -> Config:
    parts: dict[str, Any] = {}
    source_of: dict[str, SourceFile] = {}
    for source in sources:
        if not isinstance(source.data, dict):
            raise source.error((), f"expected one of {', '.join(Config.model_fields)}")
        if "hosts" in source.data:
            source = _hardware(source)
        for part, value in source.data.items():
            if part not in Config.model_fields:
                raise source.error((part,), "no such field")
            if part in parts:
                raise source.error((part,), f"{source_of[part].name} gives it already")
            parts[part], source_of[part] = value, source
    for part, field in Config.model_fields.items():
        if field.is_required() and parts.get(part) is None:
            names = ", ".join(source.name for source in sources) or "no file"
            raise OfframpError(f"{names}: expected {part}, in this file or in another one given with it")
    try:
        config = Config.of(parts, source_of)
    except ValidationError as error:
        first = error.errors()[0]
        source = source_of[str(first["loc"][0])]
        raise source.error(_place(source, first["loc"]), _message(first)) from None
    check(config)
    return config


def _hardware(source: SourceFile) -> SourceFile:
    """The host model in a cluster file, as a file that gives hardware alone; LEO's hosts are all alike.

    Raises:
        OfframpError: one line with file and line: no model, or hosts of several.
    """
    cluster = cluster_of(source, Path(source.name).stem)
    models = {repr(host.hardware): host for host in cluster.hosts if host.hardware is not None}
    if len(models) != 1:
        hosts = " and ".join(f"{host.name} ({cluster.place(host.name)})" for host in models.values())
        problem = f"{hosts} have different models" if models else "no host has a model"
        raise source.error(("hosts",), f"hardware: {problem}: LEO expects the same one for all hosts that have any")
    (host,) = models.values()
    if isinstance(host.hardware, str):
        beside = Path(source.name).parent / host.hardware
        inner = read_source(beside if beside.is_file() else builtin(host.hardware))
        if not isinstance(inner.data, dict) or "hardware" not in inner.data:
            raise inner.error((), "expected hardware")
        return SourceFile(inner.name, {"hardware": inner.data["hardware"]}, inner.lines)
    index = next(i for i, row in enumerate(source.data["hosts"]) if row.get("hardware") == host.hardware)
    start = ("hosts", index, "hardware")
    lines = {("hardware", *place[3:]): line for place, line in source.lines.items() if place[:3] == start}
    return SourceFile(source.name, {"hardware": host.hardware}, lines)


def _place(source: SourceFile, steps: Sequence[int | str]) -> Place:
    """The steps that lead through the file; pydantic puts some of its own between them."""
    place: list[int | str] = []
    data = source.data
    for step in steps:
        inside = isinstance(data, dict) and step in data
        if inside or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            place.append(step)
            data = data[step]
    return tuple(place)


def _message(error: Any) -> str:
    """An error of pydantic in a user's words."""
    kind, last = error["type"], str(error["loc"][-1]) if error["loc"] else ""
    if kind == "extra_forbidden":
        return "no such field"
    if kind == "missing":
        return f"expected {last}"
    if kind == "enum":
        return (
            f"{error['input']}: expected one of {error['ctx']['expected'].replace(chr(39), '').replace(' or ', ', ')}"
        )
    if kind == "too_short":
        return "expected at least one"
    if kind == "value_error":
        return str(error["ctx"]["error"])
    expected = {
        "model_type": "fields by name",
        "dict_type": "fields by name",
        "list_type": "a list",
        "int_type": "a number",
    }
    if kind in expected:
        return f"expected {expected[kind]}"
    return f"{error['input']}: {error['msg'][0].lower()}{error['msg'][1:]}"
