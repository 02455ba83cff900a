# SPDX-License-Identifier: Apache-2.0
"""Jobs from files: a flat YAML mapping of scalars, or TOML.

``model`` is a name of table 5.5, whose parallelism the other fields change, or is absent: then ``layers``, ``hidden``,
… describe the model::

    model: mixtral-8x22b
    gpus: 1024
    micro_batches: 16      # comments are allowed
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from offramp.hermod.job import HermodJob, named_job
from offramp.hermod.models import PRESETS, DecoderTransformer
from offramp_base.documents import is_number, parse_toml, read_text
from offramp_base.errors import OfframpError

_MODEL: Final = {f.name: str(f.type) for f in fields(DecoderTransformer)}
_JOB: Final = {f.name: str(f.type) for f in fields(HermodJob) if f.name != "model"}
_NEEDED_MODEL: Final = ("layers", "hidden", "heads", "vocabulary", "ffn")
_LINE: Final = re.compile(r"([A-Za-z_]\w*)\s*:\s*(.*)")


def load_job(source: str) -> HermodJob:
    """A model's name, or a file.

    Raises:
        OfframpError: no such name, or a fault in the file, with the line or field that is wrong.
    """
    path = Path(source)
    if source in PRESETS or not (path.suffix or path.exists()):
        return named_job(source)
    try:
        text = read_text(path)
        return job_from(parse_toml(text) if path.suffix == ".toml" else _yaml(text))
    except OfframpError as error:
        raise OfframpError(f"job {source}: {error}") from None


def job_from(content: dict[str, Any]) -> HermodJob:
    """A job from its fields.

    Raises:
        OfframpError: an unknown field, one that is missing, or a value of the wrong kind.
    """
    described = {name: value for name, value in content.items() if name in _MODEL and name != "name"}
    changes = {name: value for name, value in content.items() if name in _JOB}
    for name in content.keys() - described.keys() - changes.keys() - {"model", "name", "dp"}:
        raise OfframpError(f"unknown field '{name}', expected model, {', '.join([*_JOB, *list(_MODEL)[1:]])}")
    for name, value in (*described.items(), *changes.items()):
        _check_kind(name, value, {**_MODEL, **_JOB}[name])
    if described:
        job = HermodJob(_model(content, described), **_with_needed(changes))
    elif "model" in content:
        job = named_job(str(content["model"]), **changes)
    else:
        raise OfframpError(f"field 'model' is missing, expected one of {', '.join(PRESETS)}, or {_NEEDED_MODEL[0]}, …")
    if content.get("dp", job.dp) != job.dp:
        raise OfframpError(f"dp {content['dp']}: gpus / (pp x tp) is {job.dp}")
    return job


def _model(content: dict[str, Any], described: dict[str, Any]) -> DecoderTransformer:
    for name in _NEEDED_MODEL:
        if name not in described:
            raise OfframpError(f"field '{name}' of the model is missing")
    values = {"kv_heads": described["heads"], **described}
    for name, value in values.items():
        if not isinstance(value, bool) and value < (0 if name in {"experts", "top_k", "shared_ffn"} else 1):
            raise OfframpError(f"{name} {value}: too small")
    if values["hidden"] % values["heads"]:
        raise OfframpError(f"hidden {values['hidden']}: not divisible by heads = {values['heads']}")
    if bool(values.get("experts")) != bool(values.get("top_k")):
        raise OfframpError("experts and top_k: expected both or neither")
    return DecoderTransformer(str(content.get("model", content.get("name", "custom"))), **values)


def _with_needed(changes: dict[str, Any]) -> dict[str, Any]:
    for name in ("gpus", "pp"):
        if name not in changes:
            raise OfframpError(f"field '{name}' is missing")
    return changes


def _check_kind(name: str, value: Any, kind: str) -> None:
    fits = {
        "int": isinstance(value, int) and not isinstance(value, bool),
        "float": is_number(value),
        "bool": isinstance(value, bool),
        "str": isinstance(value, str),
    }[kind]
    if not fits:
        what = {"int": "an integer", "float": "a number", "bool": "true or false", "str": "a word"}[kind]
        raise OfframpError(f"{name} {value!r}: expected {what}")


def _yaml(text: str) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"(^|\s)#.*", "", line).rstrip()
        if not bare or bare == "---":
            continue
        match = _LINE.fullmatch(bare)
        if match is None or not match[2]:
            raise OfframpError(f"line {number}: expected 'field: value'")
        if match[1] in content:
            raise OfframpError(f"line {number}: field '{match[1]}' is there twice")
        content[match[1]] = _scalar(match[2])
    return content


def _scalar(text: str) -> int | float | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
