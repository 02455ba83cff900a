# SPDX-License-Identifier: Apache-2.0
"""What a resource of Kubernetes may look like: structural schemas of OpenAPI, as in a CustomResourceDefinition.

:func:`schemas_in` reads the real definitions from a folder; :data:`OWN` describes the parts of them that exported
manifests use, so that a test needs no download.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

_TYPES: Final = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
_TEXT, _NUMBER, _TRUTH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_ANY = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _object(required: tuple[str, ...] = (), **properties: dict) -> dict:
    return {"type": "object", "properties": properties, "required": list(required)}


def _list(items: dict) -> dict:
    return {"type": "array", "items": items}


_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_SELECTOR = _object(matchLabels=_TEXTS, matchExpressions=_list(_object(("key", "operator"), key=_TEXT, operator=_TEXT)))
_VARIABLE = _object(
    ("name",),
    name=_TEXT,
    value=_TEXT,
    valueFrom=_object(fieldRef=_object(("fieldPath",), fieldPath=_TEXT, apiVersion=_TEXT)),
)
_AMOUNT = {"x-kubernetes-int-or-string": True}
_CONTAINER = _object(
    ("name",),
    name=_TEXT,
    image=_TEXT,
    command=_list(_TEXT),
    args=_list(_TEXT),
    env=_list(_VARIABLE),
    volumeMounts=_list(_object(("name", "mountPath"), name=_TEXT, mountPath=_TEXT, readOnly=_TRUTH)),
    resources=_object(limits={"type": "object", "additionalProperties": _AMOUNT}),
)
_VOLUME = _object(
    ("name",),
    name=_TEXT,
    configMap=_object(name=_TEXT),
    emptyDir=_object(),
    persistentVolumeClaim=_object(("claimName",), claimName=_TEXT),
)
_TERM = _object(matchExpressions=_list(_object(("key", "operator"), key=_TEXT, operator=_TEXT, values=_list(_TEXT))))
_PLACES = _object(("nodeSelectorTerms",), nodeSelectorTerms=_list(_TERM))
_SPREAD = _object(
    ("maxSkew", "topologyKey", "whenUnsatisfiable"),
    maxSkew=_NUMBER,
    topologyKey=_TEXT,
    whenUnsatisfiable=_TEXT,
    labelSelector=_SELECTOR,
)
_POD = _object(
    ("containers",),
    containers=_list(_CONTAINER),
    volumes=_list(_VOLUME),
    restartPolicy={"type": "string", "enum": ["Always", "OnFailure", "Never"]},
    affinity=_object(nodeAffinity=_object(requiredDuringSchedulingIgnoredDuringExecution=_PLACES)),
    topologySpreadConstraints=_list(_SPREAD),
)
_TEMPLATE = _object(metadata=_ANY, spec=_POD)
_REPLICAS = _object(replicas=_NUMBER, restartPolicy=_TEXT, template=_TEMPLATE)
_BATCH = _object(
    ("template",),
    parallelism=_NUMBER,
    completions=_NUMBER,
    completionMode=_TEXT,
    backoffLimit=_NUMBER,
    template=_TEMPLATE,
)
_HEAD = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": _ANY}

OWN: Final = {
    "ConfigMap": _object(**_HEAD, data=_TEXTS),
    "Pod": _object(("spec",), **_HEAD, spec=_POD),
    "PyTorchJob": _object(
        **_HEAD,
        spec=_object(
            ("pytorchReplicaSpecs",),
            nprocPerNode=_TEXT,
            runPolicy=_object(backoffLimit=_NUMBER, cleanPodPolicy=_TEXT),
            pytorchReplicaSpecs={"type": "object", "additionalProperties": _REPLICAS},
        ),
    ),
    "JobSet": _object(
        **_HEAD,
        spec=_object(
            failurePolicy=_object(maxRestarts=_NUMBER),
            replicatedJobs=_list(
                _object(
                    ("name", "template"), name=_TEXT, replicas=_NUMBER, template=_object(metadata=_ANY, spec=_BATCH)
                )
            ),
        ),
    ),
}
"""Schemas by kind."""


def schemas_in(folder: Path) -> dict[str, dict]:
    """The schemas of all CustomResourceDefinitions in a folder's YAML files, by kind."""
    schemas = {}
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.load_all(path.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if document and document["kind"] == "CustomResourceDefinition":
                (version, *_) = document["spec"]["versions"]
                schemas[document["spec"]["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return schemas


def faults(value: Any, schema: dict, where: str = "") -> Iterator[tuple[str, str]]:
    """Field and fault of everything that a schema refuses; fields that it does not know are faults."""
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str):
            yield where, "expected a number or text"
        return
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or (kind != "boolean" and isinstance(value, bool))):
        yield where, f"expected {kind}, not {type(value).__name__}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield where, f"expected one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield where, f"expected a match of {schema['pattern']}"
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield where, "out of range"
    if isinstance(value, list) and "items" in schema:
        for number, each in enumerate(value):
            yield from faults(each, schema["items"], f"{where}[{number}]")
    if isinstance(value, dict):
        yield from _fields(value, schema, where)


def _fields(value: dict, schema: dict, where: str) -> Iterator[tuple[str, str]]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{where}.{name}".lstrip("."), "Required value"
    for name, each in value.items():
        below = known.get(name, schema.get("additionalProperties"))
        if isinstance(below, dict):
            yield from faults(each, below, f"{where}.{name}".lstrip("."))
        elif below is None and not schema.get("x-kubernetes-preserve-unknown-fields") and not _open(schema):
            yield f"{where}.{name}".lstrip("."), "unknown field"


def _open(schema: dict) -> bool:
    """Whether an object may have any fields: one without properties, such as metadata."""
    return "properties" not in schema and "additionalProperties" not in schema
