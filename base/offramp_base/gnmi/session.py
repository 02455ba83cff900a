# SPDX-License-Identifier: Apache-2.0
"""A gNMI client, with paths as text and values as Python's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Self

from offramp_base.gnmi.paths import parse_path, path_text
from offramp_base.gnmi.schema import PROTO, SERVICE, SUBSCRIBE, UNARY, TypedValue, gnmi
from offramp_base.p4rt.answers import reader
from offramp_base.p4rt.connection import open_channel, rpc_error
from offramp_base.p4rt.status import Code, RpcError
from offramp_base.p4rt.tls import Tls

Value = str | int | bool | dict[str, Any] | list[Any]
_STREAM, _ONCE, _POLL = 0, 1, 2
_MODES: Final = {"ONCE": _ONCE, "POLL": _POLL, "STREAM": _STREAM}


class GnmiSession:
    """A client of the server at ``host:port`` or ``unix:PATH``; a context manager.

    Every method raises :class:`~offramp_base.p4rt.status.RpcError` when the server does not answer, or refuses.
    """

    def __init__(self, address: str, tls: Tls | None = None, *, timeout_s: float = 10.0) -> None:
        self.channel = open_channel(address, tls)
        self._timeout_s = timeout_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def call(self, method: str, request: Any) -> Any:
        """Call one of :data:`offramp_base.gnmi.schema.UNARY`."""
        request_class, response_class = UNARY[method]
        stub = self.channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=request_class.SerializeToString,
            response_deserializer=reader(response_class),
        )
        with _errors():
            return stub(request, timeout=self._timeout_s)

    def capabilities(self) -> Any:
        """The models and encodings of the server, and its version."""
        return self.call("Capabilities", gnmi.CapabilityRequest())

    def get(self, *paths: str, encoding: int = PROTO) -> dict[str, Value]:
        """Values by path: of the leaves that are named or, with a JSON encoding, of whole subtrees."""
        reply = self.call("Get", gnmi.GetRequest(path=[parse_path(path) for path in paths], encoding=encoding))
        return dict(values(reply.notification))

    def update(self, wanted: Mapping[str, Value]) -> None:
        """Set values by path, all or none."""
        updates = [gnmi.Update(path=parse_path(path), val=typed(value)) for path, value in wanted.items()]
        self.call("Set", gnmi.SetRequest(update=updates))

    def subscribe(self, *subscriptions: Any, mode: str = "ONCE", **options: Any) -> Any:
        """The call of a Subscribe, an iterator of ``SubscribeResponse`` that can be cancelled.

        Args:
            subscriptions: paths, or ``gnmi.Subscription`` messages.
            mode: ``ONCE`` or ``STREAM``; for ``POLL`` use :meth:`exchange`.
            options: further fields of the subscription list.
        """
        each = [s if isinstance(s, gnmi.Subscription) else gnmi.Subscription(path=parse_path(s)) for s in subscriptions]
        wanted = gnmi.SubscriptionList(subscription=each, mode=_MODES[mode], **{"encoding": PROTO, **options})
        return self.exchange([gnmi.SubscribeRequest(subscribe=wanted)])

    def exchange(self, requests: Iterable[Any], timeout_s: float | None = None) -> Any:
        """The call of a Subscribe with these requests."""
        stub = self.channel.stream_stream(
            f"/{SERVICE}/Subscribe",
            request_serializer=SUBSCRIBE[0].SerializeToString,
            response_deserializer=reader(SUBSCRIBE[1]),
        )
        return _Responses(stub(iter(requests), timeout=timeout_s))


class _Responses:
    """The responses of a Subscribe."""

    def __init__(self, call: Any) -> None:
        self._call = call

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        with _errors():
            return next(self._call)

    def until_sync(self) -> dict[str, Value]:
        """The values up to the next ``sync_response``, or to the end."""
        out: dict[str, Value] = {}
        for response in self:
            if response.sync_response:
                break
            out |= values([response.update])
        return out

    def cancel(self) -> None:
        """End the call."""
        self._call.cancel()


def values(notifications: Iterable[Any]) -> Iterator[tuple[str, Value]]:
    """Path and value of each update."""
    for notification in notifications:
        for update in notification.update:
            yield path_text([*notification.prefix.elem, *update.path.elem]), plain(update.val)


def plain(value: Any) -> Value:
    """The Python value that a ``gnmi.TypedValue`` holds.

    Raises:
        RpcError: a server sent what is not one of the kinds that are asked for.
    """
    kind = value.WhichOneof("value")
    if kind in {"json_val", "json_ietf_val"}:
        try:
            parsed: Value = json.loads(getattr(value, kind))
        except (ValueError, RecursionError):
            raise RpcError(Code.UNKNOWN, "the server sent a value that is not JSON") from None
        return parsed
    if kind not in {"string_val", "uint_val", "int_val", "bool_val"}:
        raise RpcError(Code.UNKNOWN, f"the server sent a value as {kind}")
    scalar: Value = getattr(value, kind)
    return scalar


def typed(value: Value) -> Any:
    """The ``gnmi.TypedValue`` of a value."""
    match value:
        case bool():
            return TypedValue(bool_val=value)
        case int():
            return TypedValue(uint_val=value)
        case str():
            return TypedValue(string_val=value)
    return TypedValue(json_val=json.dumps(value).encode())


@contextmanager
def _errors() -> Iterator[None]:
    import grpc

    try:
        yield
    except grpc.RpcError as error:
        raise rpc_error(error) from None
