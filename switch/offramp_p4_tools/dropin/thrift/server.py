# SPDX-License-Identifier: Apache-2.0
"""The server of bmv2's run-time services: loopback, bounded messages, few connections."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import socket
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Self

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, parse_address
from offramp_base.listening.places import ClientPlaces
from offramp_base.listening.sockets import bind, remove
from offramp_p4_tools.dropin.thrift.arrays import Arrays
from offramp_p4_tools.dropin.thrift.catalogue import read_catalogue
from offramp_p4_tools.dropin.thrift.info import Info
from offramp_p4_tools.dropin.thrift.learning import LearnLists
from offramp_p4_tools.dropin.thrift.management import Management
from offramp_p4_tools.dropin.thrift.protocol import (
    CALL,
    EXCEPTION,
    REPLY,
    Fields,
    ThriftError,
    ThriftMessage,
    ThriftReader,
    ThriftWriter,
)
from offramp_p4_tools.dropin.thrift.replication import ReplicationMethods
from offramp_p4_tools.dropin.thrift.services import LACKING, SERVICES, STRUCTS, Method, RequestRefused
from offramp_p4_tools.dropin.thrift.tables import TableMethods

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from offramp_p4.runtime.pipeline import Pipeline
    from offramp_p4.serve import RunningSwitch
    from offramp_p4.state import TableEntry
    from offramp_p4_tools.dropin.nanomsg import Publisher
    from offramp_p4_tools.dropin.thrift.catalogue import LearnListInfo

_LOG: Final = logging.getLogger(__name__)
MAX_CLIENTS: Final = 32
_WAITING: Final = 1024
"""Connections that the kernel holds until they are accepted, so that a flood keeps no client out."""
GREETING_S: Final = 5.0
"""Seconds for the first message of a client; after it a client may be silent, as people at a prompt are."""
MESSAGE_S: Final = 30.0
"""Seconds for a message, from its first byte to its last."""
_APPLICATION_ERROR: Final = ((1, "message", "string"), (2, "type", "i32"))
"""``TApplicationException``."""
_UNKNOWN_METHOD, _INTERNAL_ERROR = 1, 6
"""Its types for a method that there is not, and for what went wrong inside."""


class ThriftServer:
    """Serves the pipeline that runs; a context manager.

    Args:
        running: the switch.
        port: port on loopback; 0: a free one.
        swap: whether programs may be swapped.
        notifications: gets bmv2's notifications of samples that have been learnt.
        publishers: addresses of publishers, by their fields in the answer of ``bm_mgmt_get_info``.

    Attributes:
        port: port on loopback at which it listens.
        refused: connections and messages that were no Thrift, by reason.
    """

    def __init__(
        self,
        running: RunningSwitch,
        port: int,
        *,
        swap: bool = False,
        notifications: Publisher | None = None,
        publishers: Mapping[str, str] | None = None,
    ) -> None:
        self._running = running
        self._publishers = dict(publishers or {})
        device = running.device
        publish: Callable[[bytes], None] = (lambda _: None) if notifications is None else notifications.publish
        self._learning = LearnLists(device.id, lambda: device.now_ns, self._learn_lists, publish)
        self._management = Management(running, self._calculations, swap=swap)
        self.refused: Counter[str] = Counter()
        self._socket = bind(parse_address(f"127.0.0.1:{port}"), Access(), "Thrift")
        self._socket.listen(_WAITING)
        self.port: int = self._socket.getsockname()[1]
        self._clients = ClientPlaces(MAX_CLIENTS, lambda: self._note("Thrift: too many clients"))
        self._closing = threading.Event()
        self._methods: tuple[Pipeline, dict[str, Any]] | None = None
        self._tables: TableMethods
        self._thread = threading.Thread(target=self._accept, name="thrift", daemon=True)

    def __enter__(self) -> Self:
        self._running.device.observers.append(self._learning)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        remove(self._socket)
        self._clients.cut()
        self._thread.join()
        self._running.device.observers.remove(self._learning)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that is served.

        Raises:
            OfframpError: no program is loaded.
        """
        pipeline = self._running.device.pipeline
        if pipeline is None:
            raise OfframpError("no program is loaded")
        return pipeline

    # --- connections ----------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                if self._closing.wait(0.05):
                    return
                continue  # a stranger that is gone again, or no descriptor left for the moment
            if self._clients.take(client) is client:
                client.close()
            else:
                threading.Thread(target=self._serve, args=(client,), name="thrift client", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            client.settimeout(GREETING_S)
            while self._answer(client):
                self._clients.greeted(client)
                client.settimeout(None)
        except ThriftError as error:
            self._note(str(error))
        except TimeoutError:
            self._note("Thrift: a message that does not end")
        except (OSError, EOFError):
            pass
        finally:
            self._clients.leave(client)
            client.close()

    def _note(self, reason: str) -> None:
        self.refused[reason] += 1
        count = self.refused[reason]
        if count & (count - 1) == 0:
            _LOG.warning("%s: refused (%d so far)", reason, count)

    def _answer(self, client: socket.socket) -> bool:
        """Read a message and answer it; False at the end of the connection."""
        deadline: float | None = None

        def take(size: int) -> bytes:
            nonlocal deadline
            parts: list[bytes] = []
            while size:
                if deadline is not None:  # of the message, however small its pieces are
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise TimeoutError
                    client.settimeout(left)
                part = client.recv(min(size, 1 << 16))
                if not part:
                    if deadline is not None:
                        raise ThriftError("Thrift: a message that is cut off")
                    raise EOFError
                parts.append(part)
                size -= len(part)
                if deadline is None:
                    deadline = time.monotonic() + MESSAGE_S
            return b"".join(parts)

        reader = ThriftReader(STRUCTS, take)
        try:
            head = reader.message()
        except EOFError:
            return False
        if head.kind != CALL:
            raise ThriftError("Thrift: not a call")
        service, _, name = head.name.rpartition(":")
        method = SERVICES.get(service or "standard", {}).get(name)
        given = reader.fields(method.arguments if method is not None else ())
        client.settimeout(MESSAGE_S)  # a client that does not read is gone
        client.sendall(self._reply(head, name, method, given))
        return True

    # --- calls ----------------------------------------------------------------------------------------------------

    def _reply(self, head: ThriftMessage, name: str, method: Method | None, given: dict[str, Any]) -> bytes:
        writer = ThriftWriter(STRUCTS)
        try:
            result = self._call(name, method, given)
        except RequestRefused as refusal:
            _LOG.info("%s: %s", name, refusal)
            writer.message(ThriftMessage(head.name, REPLY, head.sequence))
            writer.fields(((1, "ouch", "Code"),), {"ouch": {"code": refusal.code}})
            return bytes(writer.data)
        except OfframpError as error:
            code = _INTERNAL_ERROR if method is not None else _UNKNOWN_METHOD
            writer.message(ThriftMessage(head.name, EXCEPTION, head.sequence))
            writer.fields(_APPLICATION_ERROR, {"message": str(error), "type": code})
            return bytes(writer.data)
        assert method is not None
        writer.message(ThriftMessage(head.name, REPLY, head.sequence))
        success: Fields = () if method.result == "void" else ((0, "success", method.result),)
        writer.fields(success, {"success": result})
        return bytes(writer.data)

    def _call(self, name: str, method: Method | None, given: dict[str, Any]) -> Any:
        if method is None:
            raise OfframpError(f"{name}: bmv2 has no such method")
        if name in LACKING:
            raise OfframpError(f"{name}: this switch lacks it: {LACKING[name]}")
        managed = getattr(self._management, name, None)
        if managed is not None:
            return self._apply(name, managed, given)
        device = self._running.device
        with device.control(), device.exclusive():
            answer = self._apply(name, self._functions()[name], given)
            if name == "bm_reset_state":
                self._learning.reset()
                self._methods = None  # handles count from 0 again
            return answer

    def _apply(self, name: str, function: Callable[..., Any], given: dict[str, Any]) -> Any:
        if given.pop("cxt_id", 0):
            raise OfframpError(f"{name}: this switch has one context, 0")
        try:
            inspect.signature(function).bind(**given)
        except TypeError as error:
            raise OfframpError(f"{name}: {error}") from None
        return function(**given)

    def handle(self, table: str, entry: TableEntry) -> int:
        """The handle by which clients know an entry; between packets, or by the thread that runs them."""
        self._functions()
        return self._tables.handle(table, entry)

    def _calculations(self) -> dict[str, str]:
        """The hashes of the program that runs, with their algorithms."""
        device = self._running.device
        with device.control(), device.exclusive():
            document = json.loads(self._functions()["bm_get_config"]())
        return {each["name"]: each["algo"] for each in document["calculations"]}

    def _learn_lists(self) -> list[LearnListInfo]:
        """The learn lists of the program that runs; none where bmv2's JSON cannot be written."""
        try:
            return read_catalogue(self._functions()["bm_get_config"]()).learn_lists
        except OfframpError as error:
            _LOG.warning("no learning: %s", error)
            return []

    def _functions(self) -> dict[str, Any]:
        """The methods for the pipeline that runs now; handles are of one pipeline."""
        pipeline = self.pipeline
        if self._methods is None or self._methods[0] is not pipeline:
            switch = pipeline.switch
            tables = self._tables = TableMethods(switch)
            parts: list[Any] = [tables, Arrays(switch), ReplicationMethods(switch)]
            parts.append(Info(self._running, pipeline, self.port, self._publishers))
            methods = {n: getattr(part, n) for part in parts for n in dir(part) if not n.startswith("_")}
            methods.update(self._learning.methods(pipeline))
            self._methods = pipeline, {n: m for n, m in methods.items() if callable(m)}
        return self._methods[1]
