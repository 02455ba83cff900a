# SPDX-License-Identifier: Apache-2.0
"""A BF-RT server in this process that keeps entries and believes nothing: every id is looked up in ``bf-rt.json``.

Blind to what a real device does beyond that: it is written from the same reading of the protocol as the client.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import grpc
from google.protobuf import any_pb2

from offramp.bfrt.schema import SERVICE, UNARY, bf, rpc

WIDTHS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
INVALID, NOT_FOUND, EXISTS, PRECONDITION = 3, 5, 6, 9


class Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class FakeBfrt:
    """A device that runs ``program``; a context manager.

    Attributes:
        entries: of each table by name: from key values to (action name or None, values by field name).
        counters: packets by counter name and index.
        bound: the client that is bound.
        pushed: device configurations that arrived.
    """

    def __init__(self, folder: Path, program: str, info: str, fixed: str) -> None:
        self.address = f"unix:{folder}/bfrt"
        self.program, self.info, self.fixed = program, info, fixed
        self.tables = {t["id"]: t for text in (info, fixed) for t in json.loads(text)["tables"]}
        self.entries: dict[str, dict[tuple, tuple]] = {t["name"]: {} for t in self.tables.values()}
        self.counters: dict[tuple[str, int], int] = {}
        self.clients: set[int] = set()
        self.bound: int | None = None
        self.pushed: list[Any] = []

    def __enter__(self) -> Self:
        calls = {
            name: grpc.unary_unary_rpc_method_handler(
                self._guarded(getattr(self, name)), request.FromString, response.SerializeToString
            )
            for name, (request, response) in UNARY.items()
        }
        calls["Read"] = grpc.unary_stream_rpc_method_handler(
            self.Read, bf.ReadRequest.FromString, bf.ReadResponse.SerializeToString
        )
        calls["StreamChannel"] = grpc.stream_stream_rpc_method_handler(
            self.StreamChannel, bf.StreamMessageRequest.FromString, bf.StreamMessageResponse.SerializeToString
        )
        self._server = grpc.server(ThreadPoolExecutor(4))
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, calls)])
        self._server.add_insecure_port(self.address)
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait()

    def _guarded(self, method):
        def call(request, context):
            try:
                return method(request, context)
            except Refused as error:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

        return call

    # --- the service, whose names these are

    def StreamChannel(self, requests: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        for request in requests:
            taken = request.client_id in self.clients
            self.clients.add(request.client_id)
            status = rpc.Status(code=EXISTS if taken else 0, message="client id is in use" if taken else "")
            yield bf.StreamMessageResponse(subscribe=bf.Subscribe(device_id=request.subscribe.device_id, status=status))

    def SetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        if request.client_id not in self.clients:
            raise Refused(PRECONDITION, f"client {request.client_id} has not subscribed")
        (config,) = request.config
        if request.action == bf.SetForwardingPipelineConfigRequest.Action.Value("BIND"):
            if config.p4_name != self.program:
                raise Refused(INVALID, f"no program {config.p4_name}")
            self.bound = request.client_id
        else:
            self.pushed.append(config)
            for entries in self.entries.values():
                entries.clear()
        return bf.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        config = bf.ForwardingPipelineConfig(p4_name=self.program, bfruntime_info=self.info.encode())
        fixed = bf.NonP4Config(bfruntime_info=self.fixed.encode())
        return bf.GetForwardingPipelineConfigResponse(config=[config], non_p4_config=fixed)

    def Write(self, request: Any, context: Any) -> Any:  # noqa: N802
        self._check_client(request)
        before = {name: dict(entries) for name, entries in self.entries.items()}
        errors = []
        for update in request.updates:
            try:
                self._insert(update)
                errors.append(bf.Error())
            except Refused as error:
                errors.append(bf.Error(canonical_code=error.code, message=str(error)))
        if any(e.canonical_code for e in errors):
            self.entries = before
            status = rpc.Status(code=2, message="batch failed")
            for error in errors:
                packed = any_pb2.Any()
                packed.Pack(error)
                status.details.add().ParseFromString(packed.SerializeToString())
            context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
            context.abort(grpc.StatusCode.UNKNOWN, "batch failed")
        return bf.WriteResponse()

    def Read(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        self._check_client(request)
        response = bf.ReadResponse()
        for entity in request.entities:
            entry = entity.table_entry
            table = self._table(entry.table_id)
            (index,) = self._key(table, entry.key)
            value = bf.DataField(field_id=table["data"][0]["singleton"]["id"])
            value.stream = self.counters.get((table["name"], index), 0).to_bytes(8, "big")
            read = response.entities.add().table_entry
            read.CopyFrom(entry)
            read.data.fields.append(value)
        yield response

    # --- checks against the description

    def _check_client(self, request: Any) -> None:
        if request.client_id != self.bound or request.p4_name != self.program:
            raise Refused(PRECONDITION, f"client {request.client_id} is not bound to {request.p4_name}")
        if (request.target.pipe_id, request.target.direction, request.target.prsr_id) != (0xFFFF, 0xFF, 0xFF):
            raise Refused(INVALID, "expected all pipes")

    def _table(self, identifier: int) -> dict:
        if identifier not in self.tables:
            raise Refused(NOT_FOUND, f"no table {identifier}")
        return self.tables[identifier]

    def _key(self, table: dict, key: Any) -> tuple:
        if [f.field_id for f in key.fields] != [f["id"] for f in table["key"]]:
            raise Refused(INVALID, f"{table['name']}: key fields {[f.field_id for f in key.fields]}")
        values = []
        for field, described in zip(key.fields, table["key"], strict=True):
            if field.WhichOneof("match_type") != described["match_type"].lower():
                raise Refused(INVALID, f"{described['name']}: match type")
            values.append(_number(field.exact.value, described))
        return tuple(values)

    def _insert(self, update: Any) -> None:
        assert update.type == bf.Update.Type.Value("INSERT")
        entry = update.entity.table_entry
        table = self._table(entry.table_id)
        key, kept = self._key(table, entry.key), self.entries[table["name"]]
        action, described = None, [d["singleton"] for d in table.get("data", ())]
        if "action_specs" in table:
            found = [a for a in table["action_specs"] if a["id"] == entry.data.action_id]
            if not found:
                raise Refused(NOT_FOUND, f"{table['name']}: no action {entry.data.action_id}")
            action = found[0]["name"]
            described = described + [d.get("singleton", d) for d in found[0]["data"]]
            if found[0].get("action_scope") == "DefaultOnly":
                raise Refused(INVALID, f"{action} is for the default entry only")
        by_id = {d["id"]: d for d in described}
        if {f.field_id for f in entry.data.fields} != by_id.keys():
            raise Refused(INVALID, f"{table['name']}: fields {[f.field_id for f in entry.data.fields]}")
        if key in kept:
            raise Refused(EXISTS, f"{table['name']}: {key} is there")
        if len(kept) >= table["size"]:
            raise Refused(8, f"{table['name']} is full")
        kept[key] = action, {by_id[f.field_id]["name"]: _value(f, by_id[f.field_id]) for f in entry.data.fields}


def _number(stream: bytes, described: dict) -> int:
    kind = described["type"]
    width = kind.get("width") or WIDTHS[kind["type"]]
    value = int.from_bytes(stream, "big")
    if len(stream) != (width + 7) // 8 or value >> width:
        raise Refused(INVALID, f"{described['name']}: {stream.hex()} is not of {width} bits")
    return value


def _value(field: Any, described: dict) -> Any:
    kind, how = described["type"]["type"], field.WhichOneof("value")
    expected = {"bool": "bool_val", "string": "str_val"}.get(kind, "stream")
    if described["repeated"]:
        expected = "bool_arr_val" if kind == "bool" else "int_arr_val"
    if how != expected:
        raise Refused(INVALID, f"{described['name']}: {how}, expected {expected}")
    if how == "stream":
        return _number(field.stream, described)
    return list(getattr(field, how).val) if described["repeated"] else getattr(field, how)
