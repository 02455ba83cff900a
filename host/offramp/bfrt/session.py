# SPDX-License-Identifier: Apache-2.0
"""A BF-RT client of one program on one device, by names instead of ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import Any, Self

from offramp.bfrt.connection import BfrtConnection
from offramp.bfrt.info import BfrtFieldInfo, BfrtInfo
from offramp_base.bfrt.schema import bf
from offramp_base.errors import OfframpError

BATCH = 2048
"""Updates in one request."""

ALL_PIPES, ANY_DIRECTION, ANY_PARSER = 0xFFFF, 0xFF, 0xFF

Value = int | str | Sequence[int]


class BfrtSession:
    """Client ``client_id`` of a device, bound to the program ``program``; a context manager.

    Every method raises :class:`OfframpError` when the device does not answer, refuses, or a name is unknown.
    """

    def __init__(
        self, address: str, program: str, *, client_id: int = 0, device_id: int = 0, timeout_s: float = 5.0
    ) -> None:
        self._connection = BfrtConnection(address)
        self._program, self._client, self._device = program, client_id, device_id
        self._timeout_s = timeout_s
        self._info: BfrtInfo | None = None

    def __enter__(self) -> Self:
        try:
            self._connection.subscribe(self._client, self._device, self._timeout_s)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Leave the device; everything that was written stays."""
        self._connection.close()

    def push(self, info: bytes, context: bytes, binary: bytes, pipes: Sequence[int] = (0,)) -> None:
        """Start the program afresh on some pipes: ``bf-rt.json``, ``context.json`` and ``tofino.bin``."""
        config = bf.ForwardingPipelineConfig(p4_name=self._program, bfruntime_info=info)
        config.profiles.add(profile_name="pipe", context=context, binary=binary, pipe_scope=list(pipes))
        self._set("VERIFY_AND_WARM_INIT_BEGIN_AND_END", config)
        self.bind()

    def bind(self) -> None:
        """Become the client of the program, which the device runs already."""
        self._set("BIND", bf.ForwardingPipelineConfig(p4_name=self._program))
        request = bf.GetForwardingPipelineConfigRequest(device_id=self._device, client_id=self._client)
        reply = self._connection.unary("GetForwardingPipelineConfig", request, self._timeout_s)
        own = [config.bfruntime_info for config in reply.config if config.p4_name == self._program]
        if not own:
            raise OfframpError(f"program {self._program}: the device runs no program of that name")
        self._info = BfrtInfo.parse(own[0], reply.non_p4_config.bfruntime_info)

    @property
    def info(self) -> BfrtInfo:
        """The tables of the program and the chip, as the device describes them."""
        if self._info is None:
            raise OfframpError(f"program {self._program}: neither pushed nor bound")
        return self._info

    def entry(
        self, table: str, keys: Mapping[str, int], action: str | None = None, data: Mapping[str, Value] | None = None
    ) -> Any:
        """One entry; keys are matched exactly."""
        spec = self.info[table]
        entry = bf.TableEntry(table_id=spec.id)
        entry.key.fields.extend(
            bf.KeyField(field_id=field.id, exact=bf.KeyField.Exact(value=field.encode(value)))
            for field, value in _named(f"table {table}: key", spec.key, keys)
        )
        if data is not None:
            fields = spec.fields_of(action)
            entry.data.action_id = spec.actions[action] if action is not None else 0
            entry.data.fields.extend(
                _data_field(field, value) for field, value in _named(f"table {table}: field", fields, data)
            )
        return entry

    def insert(self, entries: Iterable[Any]) -> None:
        """Add entries; each batch is taken as a whole or not at all."""
        left = iter(entries)
        while batch := list(islice(left, BATCH)):
            request = bf.WriteRequest(client_id=self._client, p4_name=self._program, target=self._target())
            request.atomicity = bf.WriteRequest.Atomicity.Value("ROLLBACK_ON_ERROR")
            for entry in batch:
                update = request.updates.add(type=bf.Update.Type.Value("INSERT"))
                update.entity.table_entry.CopyFrom(entry)
            self._connection.unary("Write", request, max(self._timeout_s, 60.0))

    def read_counter(self, counter: str, size: int) -> list[int]:
        """Packets counted at each index, over all pipes, as the chip has them now."""
        table = self.info[counter]
        request = bf.ReadRequest(client_id=self._client, p4_name=self._program, target=self._target())
        for index in range(size):
            entry = self.entry(counter, {"$COUNTER_INDEX": index})
            entry.table_flags.from_hw = True
            request.entities.add().table_entry.CopyFrom(entry)
        packets = table.data["$COUNTER_SPEC_PKTS"].id
        counts = [0] * size
        for entity in self._connection.read(request, self._timeout_s):
            fields = entity.table_entry.key.fields
            index = int.from_bytes(fields[0].exact.value, "big") if fields else size
            if index >= size:
                raise OfframpError(f"counter {counter}: the device answers with an index that was not asked for")
            for field in entity.table_entry.data.fields:
                if field.field_id == packets:
                    counts[index] = int.from_bytes(field.stream, "big")
        return counts

    def _target(self) -> Any:
        return bf.TargetDevice(device_id=self._device, pipe_id=ALL_PIPES, direction=ANY_DIRECTION, prsr_id=ANY_PARSER)

    def _set(self, action: str, config: Any) -> None:
        request = bf.SetForwardingPipelineConfigRequest(device_id=self._device, client_id=self._client)
        request.action = bf.SetForwardingPipelineConfigRequest.Action.Value(action)
        request.config.append(config)
        self._connection.unary("SetForwardingPipelineConfig", request, max(self._timeout_s, 60.0))


def _named(
    what: str, fields: Mapping[str, BfrtFieldInfo], values: Mapping[str, Any]
) -> list[tuple[BfrtFieldInfo, Any]]:
    strangers = values.keys() - fields.keys()
    if strangers:
        raise OfframpError(f"{what} {min(strangers)}: expected {', '.join(fields)}")
    return [(fields[name], value) for name, value in values.items()]


def _data_field(field: BfrtFieldInfo, value: Value) -> Any:
    message = bf.DataField(field_id=field.id)
    if field.repeated:
        if isinstance(value, int | str):
            raise OfframpError(f"{field.name} = {value}: expected a list")
        if field.kind == "bool":
            message.bool_arr_val.val.extend(map(bool, value))
        else:
            message.int_arr_val.val.extend(value)
    elif field.kind == "string":
        message.str_val = str(value)
    elif field.kind == "bool":
        message.bool_val = bool(value)
    elif isinstance(value, int):
        message.stream = field.encode(value)
    else:
        raise OfframpError(f"{field.name} = {value}: expected a number")
    return message
