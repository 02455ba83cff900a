# SPDX-License-Identifier: Apache-2.0
"""BF-RT requests by name, straight to a service: what an SDE's client sends, without gRPC."""

from __future__ import annotations

import json
from typing import Any

from offramp_base.bfrt.schema import bf
from offramp_base.p4rt.status import RpcError
from offramp_p4_tools.bfrt.service import BfrtService

ALL_PIPES = 0xFFFF


class Requests:
    """A client of a service that is bound to the program it runs; names and ids come from ``bf-rt.json``."""

    def __init__(self, service: BfrtService, *, client_id: int = 1, hears: bool = True) -> None:
        self.service, self.id = service, client_id
        self.heard: list[Any] = []
        self.stream = service.open_stream(self.heard.append, lambda _: None)
        wanted = bf.Subscribe()
        for field in wanted.notifications.DESCRIPTOR.fields:
            setattr(wanted.notifications, field.name, hears)
        self.stream.receive(bf.StreamMessageRequest(client_id=client_id, subscribe=wanted))
        if self.heard.pop().subscribe.status.code:
            raise AssertionError("the subscription is refused")
        reply = service.get_pipeline(bf.GetForwardingPipelineConfigRequest(client_id=client_id))
        (config,) = reply.config
        texts = (config.bfruntime_info, reply.non_p4_config.bfruntime_info)
        self.tables = {t["name"]: t for text in texts for t in json.loads(text)["tables"]}
        self.digests = {d["name"]: d for d in json.loads(config.bfruntime_info)["learn_filters"]}
        bind = bf.SetForwardingPipelineConfigRequest(client_id=client_id)
        bind.config.add(p4_name=config.p4_name)
        service.set_pipeline(bind)

    # --- entries

    def entry(self, table: str, key: dict[str, Any] | None, action: str | None = None, **data: Any) -> Any:
        """A TableEntry.

        A value of a key is a number, a text, or (value, mask), (value, "/", length), (low, "..", high).
        """
        described = self.tables[table]
        message = bf.TableEntry(table_id=described["id"], is_default_entry=key is None)
        fields = {f["name"]: f for f in described["key"]}
        if key is not None:
            message.key.SetInParent()
            for name, value in key.items():
                _match(message.key.fields.add(field_id=fields[name]["id"]), fields[name], value)
        known = {}
        for one in described["data"]:
            known |= {f["name"]: f for f in one.get("oneof", [one.get("singleton")])}
        if action is not None:
            (spec,) = (a for a in described["action_specs"] if a["name"].endswith(action))
            message.data.action_id = spec["id"]
            known |= {f["name"]: f for f in spec["data"]}
        for name, value in data.items():
            known_field = next(f for n, f in known.items() if n.lstrip("$") == name or n.split(".")[-1] == name)
            _value(message.data.fields.add(field_id=known_field["id"]), known_field, value)
        return message

    def write(self, kind: str, *entries: Any, atomicity: str = "ROLLBACK_ON_ERROR") -> None:
        """Updates of one kind in one request."""
        request = bf.WriteRequest(client_id=self.id, atomicity=bf.WriteRequest.Atomicity.Value(atomicity))
        request.target.pipe_id = ALL_PIPES
        for entry in entries:
            update = request.updates.add(type=bf.Update.Type.Value(kind))
            kinds = {bf.TableEntry: "table_entry", bf.TableAttribute: "table_attribute"}
            name = kinds.get(type(entry), "table_operation")
            getattr(update.entity, name).CopyFrom(entry)
        self.service.write(bf.WriteRequest.FromString(request.SerializeToString()))

    def insert(self, table: str, key: dict[str, Any], action: str | None = None, **data: Any) -> None:
        """Add an entry."""
        self.write("INSERT", self.entry(table, key, action, **data))

    def modify(self, table: str, key: dict[str, Any] | None, action: str | None = None, **data: Any) -> None:
        """Change an entry, or with no key the default one."""
        self.write("MODIFY", self.entry(table, key, action, **data))

    def delete(self, table: str, key: dict[str, Any] | None = None) -> None:
        """Remove an entry, or all."""
        message = self.entry(table, key)
        message.is_default_entry = False
        self.write("DELETE", message)

    def read(self, entity: Any) -> list[Any]:
        """Answer to a read of one Entity."""
        request = bf.ReadRequest(client_id=self.id, entities=[entity])
        request.target.pipe_id = ALL_PIPES
        return [e for response in self.service.read(request) for e in response.entities]

    def get(
        self, table: str, key: dict[str, Any] | None = None, *, default: bool = False, from_hw: bool = True
    ) -> list[dict[str, Any]]:
        """Entries as dictionaries of fields by name; ``action`` is the action's name, ``key`` has the key's fields."""
        wanted = self.entry(table, key)
        wanted.is_default_entry = default
        wanted.table_flags.from_hw = from_hw
        if key is None:
            wanted.ClearField("key")
        return [self.plain(table, e.table_entry) for e in self.read(bf.Entity(table_entry=wanted))]

    def plain(self, table: str, entry: Any) -> dict[str, Any]:
        """A TableEntry by names."""
        described = self.tables[table]
        names = {f["id"]: f["name"] for one in described["data"] for f in one.get("oneof", [one.get("singleton")])}
        values: dict[str, Any] = {}
        for spec in described.get("action_specs", []):
            if spec["id"] == entry.data.action_id:
                values["action"] = spec["name"].rpartition(".")[2]
                names |= {f["id"]: f["name"] for f in spec["data"]}
        for field in entry.data.fields:
            values[names[field.field_id].lstrip("$").rpartition(".")[2]] = _plain(field)
        keys = {f["id"]: f["name"] for f in described["key"]}
        if entry.HasField("key"):
            values["key"] = {keys[f.field_id]: _plain_key(f) for f in entry.key.fields}
        return values


def refused(call: Any) -> str:
    """The code of the only error of a call."""
    try:
        call()
    except RpcError as error:
        from offramp_base.p4rt.status import Code

        codes = {Code(e.canonical_code).name for e in error.errors if e.canonical_code} or {error.code.name}
        (code,) = codes - {"ABORTED"} or codes
        return code
    raise AssertionError("it is accepted")


def _octets(value: int, field: dict[str, Any]) -> bytes:
    kind = field["type"]
    width = kind.get("width") or {"uint8": 8, "uint16": 16, "uint64": 64}.get(kind["type"], 32)
    return value.to_bytes((width + 7) // 8, "big")


def _match(protobuf: Any, field: dict[str, Any], value: Any) -> None:
    kind = field["match_type"]
    if isinstance(value, str):
        protobuf.exact.value = value.encode()
    elif kind == "Ternary":
        protobuf.ternary.value, protobuf.ternary.mask = (_octets(v, field) for v in value)
    elif kind == "LPM":
        protobuf.lpm.value, protobuf.lpm.prefix_len = _octets(value[0], field), value[2]
    elif kind == "Range":
        protobuf.range.low, protobuf.range.high = _octets(value[0], field), _octets(value[2], field)
    else:
        protobuf.exact.value = _octets(value, field)


def _value(protobuf: Any, field: dict[str, Any], value: Any) -> None:
    if isinstance(value, list):
        (protobuf.bool_arr_val if field["type"]["type"] == "bool" else protobuf.int_arr_val).val.extend(value)
    elif isinstance(value, bool):
        protobuf.bool_val = value
    elif isinstance(value, str):
        protobuf.str_val = value
    elif field["type"]["type"] == "float":
        protobuf.float_val = value
    else:
        protobuf.stream = _octets(value, field)


def _plain(field: Any) -> Any:
    how = field.WhichOneof("value")
    value = getattr(field, how)
    return int.from_bytes(value, "big") if how == "stream" else list(value.val) if "arr" in how else value


def _plain_key(field: Any) -> Any:
    match field.WhichOneof("match_type"):
        case "ternary":
            return int.from_bytes(field.ternary.value, "big"), int.from_bytes(field.ternary.mask, "big")
        case "lpm":
            return int.from_bytes(field.lpm.value, "big"), "/", field.lpm.prefix_len
        case "range":
            return int.from_bytes(field.range.low, "big"), "..", int.from_bytes(field.range.high, "big")
        case _:
            return int.from_bytes(field.exact.value, "big")
