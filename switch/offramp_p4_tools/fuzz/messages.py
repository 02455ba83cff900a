# SPDX-License-Identifier: Apache-2.0
"""Random P4Runtime requests against a service."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final

from offramp_base.errors import OfframpError
from offramp_base.p4rt.schema import v1
from offramp_p4 import ir
from offramp_p4.runtime.device import P4Device
from offramp_p4.runtime.service import P4RuntimeService
from offramp_p4.switch import Switch

_UNARY: Final = ("Write", "SetForwardingPipelineConfig", "GetForwardingPipelineConfig", "Capabilities")
_REQUESTS: Final = ("Write", "Write", "Write", "Read", "Read", "Stream", *_UNARY[1:])


class RandomController:
    """A controller that says anything to the service of a switch with ``program``."""

    def __init__(self, program: ir.Program, rng: Random) -> None:
        self.rng = rng
        self.device = P4Device(0, lambda other: Switch(other, max_passes=10))
        self.device.load(program)
        self.service = P4RuntimeService(self.device)
        assert self.device.pipeline is not None
        info = self.device.pipeline.info
        objects = [o for f in info.DESCRIPTOR.fields for o in _objects(getattr(info, f.name))]
        self.ids = [0, 1, *(o.preamble.id for o in objects)]
        self._become_primary()

    def step(self) -> str:
        """One request; ``"accepted"`` or ``"refused"``. Anything but an OfframpError gets out."""
        method = self.rng.choice(_REQUESTS)
        try:
            if method == "Stream":
                self.end.receive(random_message(self.rng, v1.StreamMessageRequest, self.ids))
            elif method == "Read":
                list(self.service.read(self._request("ReadRequest")))
            else:
                self.service.unary(method, self._request(f"{method}Request"))
        except OfframpError:
            if method == "Stream":
                self._become_primary()
            return "refused"
        return "accepted"

    def _request(self, name: str) -> Any:
        request = random_message(self.rng, getattr(v1, name), self.ids)
        names = {field.name for field in request.DESCRIPTOR.fields}
        if self.rng.random() < 0.9:
            request.device_id = 0
        if "election_id" in names and self.rng.random() < 0.9:
            request.election_id.CopyFrom(v1.Uint128(low=1))
            request.ClearField("role")
            request.ClearField("role_id")
        if "atomicity" in names and self.rng.random() < 0.8:
            request.ClearField("atomicity")
        if name.startswith("Set") and self.rng.random() < 0.9:
            request.action = self.rng.choice((0, 1, 4, 5))  # so that the program stays most of the time
        return request

    def _become_primary(self) -> None:
        self.end = self.service.open_stream(lambda _: None)
        first = v1.StreamMessageRequest()
        first.arbitration.election_id.low = 1
        try:
            self.end.receive(first)
        except OfframpError:
            return  # a random stream has this election id; its requests are as good


def _objects(field: Any) -> list[Any]:
    return [o for o in field if hasattr(o, "preamble")] if hasattr(field, "add") else []


def random_message(rng: Random, kind: Any, ids: Sequence[int], depth: int = 5) -> Any:
    """A protobuf message of a kind with random fields, or of random bytes; ``ids`` are those of the program."""
    message = kind()
    if rng.random() < 0.1:
        try:
            message.ParseFromString(rng.randbytes(rng.randint(0, 60)))
        except Exception as error:
            if type(error).__name__ != "DecodeError":
                raise
        return message
    _fill(rng, message, ids, depth)
    return message


def _fill(rng: Random, message: Any, ids: Sequence[int], depth: int) -> None:
    for field in message.DESCRIPTOR.fields:
        if rng.random() < 0.55:
            continue
        repeated = getattr(message, field.name) if _is_repeated(message, field) else None
        for _ in range(rng.randint(1, 2) if repeated is not None else 1):
            if field.message_type is None:
                value = _scalar(rng, field, ids)
                if repeated is not None:
                    repeated.append(value)
                else:
                    setattr(message, field.name, value)
            elif depth > 0 and not field.message_type.GetOptions().map_entry:
                inner = repeated.add() if repeated is not None else getattr(message, field.name)
                inner.SetInParent()
                _fill(rng, inner, ids, depth - 1)


def _is_repeated(message: Any, field: Any) -> bool:
    return hasattr(getattr(message, field.name), "append") or hasattr(getattr(message, field.name), "add")


def _scalar(rng: Random, field: Any, ids: Sequence[int]) -> Any:
    number = rng.choice((0, 1, 2, rng.randrange(1 << 16), rng.choice(ids), rng.choice(ids), (1 << 31) - 1))
    kinds: dict[int, Callable[[], Any]] = {
        field.CPPTYPE_BOOL: lambda: rng.random() < 0.5,
        field.CPPTYPE_STRING: lambda: (
            rng.randbytes(rng.randint(0, 20))
            if field.type == field.TYPE_BYTES
            else rng.choice(("", "a", "role", "é" * 9))
        ),
        field.CPPTYPE_ENUM: lambda: rng.choice([v.number for v in field.enum_type.values]),
        field.CPPTYPE_FLOAT: rng.random,
        field.CPPTYPE_DOUBLE: rng.random,
        field.CPPTYPE_INT32: lambda: rng.choice((number & 0x7FFFFFFF, -1, -(1 << 31))),
        field.CPPTYPE_INT64: lambda: rng.choice((number, -1, -(1 << 63), (1 << 63) - 1)),
    }
    return kinds.get(field.cpp_type, lambda: number)()
