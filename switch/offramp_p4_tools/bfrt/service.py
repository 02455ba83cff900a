# SPDX-License-Identifier: Apache-2.0
"""The BF-RT service without a wire: requests in, responses or RpcError out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from offramp_base.bfrt.schema import SERVICE, UNARY, bf
from offramp_base.errors import OfframpError
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.architecture import TNA, architecture_of
from offramp_p4.ports.panel import FrontPanel
from offramp_p4.runtime.device import P4Device, check_device
from offramp_p4.runtime.entities.base import as_rpc_error, invalid
from offramp_p4.runtime.pushed import compile_pushed
from offramp_p4.runtime.reconcile import carry_over
from offramp_p4.runtime.wire import WireProtocol
from offramp_p4_tools.bfrt import fixed
from offramp_p4_tools.bfrt.attributes import Attributes
from offramp_p4_tools.bfrt.clients import SHARED, Clients, ClientStream, unknown
from offramp_p4_tools.bfrt.notices import Notices
from offramp_p4_tools.bfrt.reading import TableReader
from offramp_p4_tools.bfrt.tables import BfrtTables, make_tables
from offramp_p4_tools.bfrt.writing import TableUpdater

if TYPE_CHECKING:
    from offramp_p4.runtime.pipeline import Pipeline

WIRE: Final = WireProtocol(
    "BF-RT",
    SERVICE,
    UNARY,
    (bf.ReadRequest, bf.ReadResponse),
    (bf.StreamMessageRequest, bf.StreamMessageResponse),
    kept="subscribe",
)
CHUNK: Final = 128
"""Updates done in one hold of the data plane's lock."""
RESPONSE_ENTITIES: Final = 1000
_ALL_PIPES: Final = 0xFFFF
_SET = bf.SetForwardingPipelineConfigRequest
_STARTED, _FINISHED = 0, 1
"""``WARM_INIT_STARTED`` and ``WARM_INIT_FINISHED``."""


class _Served:
    """The tables of one pipeline with everything that works on them."""

    def __init__(self, pipeline: Pipeline, tables: BfrtTables, now_us: Callable[[], int]) -> None:
        self.pipeline, self.tables = pipeline, tables
        self.attributes = Attributes(tables.store, now_us)
        self.writer = TableUpdater(tables, self.attributes)
        self.reader = TableReader(tables, self.attributes)


class BfrtService:
    """BF-RT for one device that runs TNA programs; methods may be called from many threads.

    Args:
        panel: the ports that the device is attached to.
    """

    wire = WIRE

    def __init__(self, device: P4Device, panel: FrontPanel | None = None) -> None:
        self.device = device
        self._panel = panel or FrontPanel(links=device.environment.links, cpu_port=device.cpu_port)
        self.clients = Clients()
        self._served: _Served | None = None
        self._begun: _Served | None = None
        device.observers.append(Notices(self.clients, self._panel, self._tables_of, self._ports_wanted, self._seen))

    def limit(self, streams: int) -> None:
        """Limit the number of clients."""
        self.clients.most = streams

    # --- one request, one response -------------------------------------------------------------------------

    def unary(self, method: str, request: Any, metadata: Mapping[str, str]) -> Any:
        """Call a method of the service by name.

        Raises:
            RpcError: the call failed; it carries the status.
        """
        match method:
            case "Write":
                return self.write(request, metadata)
            case "SetForwardingPipelineConfig":
                return self.set_pipeline(request)
            case _:
                return self.get_pipeline(request)

    def write(self, request: Any, metadata: Mapping[str, str] | None = None) -> Any:
        """Write: what goes wrong with an update is in the status, or in the response if metadata ask for that."""
        if request.atomicity not in bf.WriteRequest.Atomicity.values():
            raise invalid(f"atomicity {request.atomicity} is unknown")
        with self.device.control():
            served = self._program(request)
            self._check_target(request.target, served.tables)
            errors: list[OfframpError | None] = []
            if request.atomicity == bf.WriteRequest.CONTINUE_ON_ERROR:
                for at in range(0, len(request.updates), CHUNK):
                    with self.device.exclusive():
                        errors += served.writer.each(request.updates[at : at + CHUNK])
            else:
                with self.device.exclusive():
                    errors = served.writer.all(request.updates)
        return self._answer(errors, metadata or {})

    def _answer(self, errors: Sequence[OfframpError | None], metadata: Mapping[str, str]) -> Any:
        failed = sum(error is not None for error in errors)
        if not failed:
            return bf.WriteResponse()
        if metadata.get("error_in_resp") == "1" or metadata.get("ignore_not_found") == "1":
            return bf.WriteResponse(status=_messages(errors))
        raise RpcError(Code.UNKNOWN, f"{failed} of {len(errors)} updates failed", _messages(errors))

    def get_pipeline(self, request: Any) -> Any:
        """GetForwardingPipelineConfig: ``bf-rt.json`` of the program, and of the chip."""
        check_device(self.device, request.device_id)
        reply = bf.GetForwardingPipelineConfigResponse()
        with self.device.control():
            served = self._current()
            if served is not None:
                text = served.tables.program.json().encode()
                reply.config.add(p4_name=served.tables.name, bfruntime_info=text)
        reply.non_p4_config.bfruntime_info = fixed.chip().json().encode()
        return reply

    def set_pipeline(self, request: Any) -> Any:
        """SetForwardingPipelineConfig: bind to the program that runs, or run another one.

        The binary of a profile is the text of a P4 program.
        """
        check_device(self.device, request.device_id)
        if self.clients.find(request.client_id) is None:
            raise unknown(request.client_id)
        action = request.action
        if action not in _SET.Action.values():
            raise invalid(f"action {action} is unknown")
        if action == _SET.BIND:
            self._bind(request)
            return bf.SetForwardingPipelineConfigResponse()
        compiled = None
        if action not in {_SET.WARM_INIT_END, _SET.RECONCILE_AND_WARM_INIT_END}:
            compiled = self._compile(request)
        reply = bf.SetForwardingPipelineConfigResponse()
        if action == _SET.VERIFY:
            return reply
        with self.device.control(), self.device.exclusive():
            self._install(action, compiled)
        kind = _STARTED if action == _SET.VERIFY_AND_WARM_INIT_BEGIN else _FINISHED
        reply.set_forwarding_pipeline_config_response_type = kind
        self.clients.tell("all", set_forwarding_pipeline_config_response=reply)
        return reply

    def _bind(self, request: Any) -> None:
        if len(request.config) != 1:
            raise invalid(f"{len(request.config)} programs; a client binds to one")
        name = request.config[0].p4_name
        with self.device.control():
            served = self._current()
            if name != SHARED and (served is None or served.tables.name != name):
                runs = "no program" if served is None else served.tables.name
                raise RpcError(Code.NOT_FOUND, f"no program {name[:80]!r}; this switch runs {runs}")
            self.clients.bind(request.client_id, name)

    def _compile(self, request: Any) -> _Served:
        if len(request.config) != 1:
            raise invalid(f"{len(request.config)} programs; this switch runs one at a time")
        (config,) = request.config
        texts = {profile.binary for profile in config.profiles}
        if len(texts) != 1:
            raise invalid("expected one profile, whose binary is the text of a P4 program")
        pipeline = compile_pushed(self.device, texts.pop(), config.p4_name)
        return self._serve(pipeline)

    def _install(self, action: int, served: _Served | None) -> None:
        device = self.device
        if action == _SET.VERIFY_AND_WARM_INIT_BEGIN:
            assert served is not None
            device.saved, self._begun = served.pipeline, served
            self.clients.unbind_all()
            return
        if served is None:
            served = self._begun
            if served is None or device.saved is not served.pipeline:
                raise RpcError(Code.FAILED_PRECONDITION, "no program has been begun by VERIFY_AND_WARM_INIT_BEGIN")
            if action == _SET.RECONCILE_AND_WARM_INIT_END and device.pipeline is not None:
                carry_over(device.pipeline, served.pipeline)
        else:
            self.clients.unbind_all()
        device.pipeline, device.saved, self._served, self._begun = served.pipeline, None, served, None

    # --- streams -------------------------------------------------------------------------------------------

    def read(self, request: Any, metadata: Mapping[str, str] | None = None) -> Iterator[Any]:
        """Read: ReadResponse messages, then RpcError if anything was not found, or errors in the last response."""
        with self.device.control():
            served = self._program(request)
        self._check_target(request.target, served.tables)
        errors: list[OfframpError | None] = []
        replies = _each(served.reader, request, errors)
        while True:
            with self.device.control(), self.device.exclusive():
                entities = list(itertools.islice(replies, RESPONSE_ENTITIES))
            if not entities:
                break
            yield bf.ReadResponse(entities=entities)
        failed = sum(error is not None for error in errors)
        if not failed:
            return
        if (metadata or {}).get("error_in_resp") == "1":
            yield bf.ReadResponse(status=_messages(errors))
            return
        raise RpcError(Code.UNKNOWN, f"{failed} of {len(errors)} reads failed", _messages(errors))

    def open_stream(self, send: Callable[[Any], None], end: Callable[[RpcError], None]) -> ClientStream:
        """StreamChannel; ``send`` takes responses and must not block."""
        del end  # a client stays until it goes
        return ClientStream(self.clients, self.device.id, send)

    # --- what runs -----------------------------------------------------------------------------------------

    def _serve(self, pipeline: Pipeline) -> _Served:
        if architecture_of(pipeline.program) is not TNA:
            raise RpcError(Code.FAILED_PRECONDITION, "BF-RT serves TNA programs; this one has another architecture")
        now_us = lambda: self.device.now_ns // 1000  # noqa: E731 (the clock of every store)
        return _Served(pipeline, make_tables(pipeline, self._panel, now_us), now_us)

    def _current(self) -> _Served | None:
        """The program that clients see; None if there is none, or if it is not for a Tofino."""
        pipeline = self.device.saved or self.device.pipeline
        for served in (self._begun, self._served):
            if served is not None and served.pipeline is pipeline:
                return served
        if pipeline is None or architecture_of(pipeline.program) is not TNA:
            return None
        self._served = self._serve(pipeline)  # loaded at the start, or by P4Runtime
        return self._served

    def _tables_of(self, pipeline: Pipeline) -> BfrtTables | None:
        served = self._served
        return served.tables if served is not None and served.pipeline is pipeline else None

    def _seen(self) -> BfrtTables | None:
        served = self._served
        return None if served is None else served.tables

    def _ports_wanted(self) -> bool:
        port = fixed.chip().tables[fixed.PORT].id
        return self._served is not None and self._served.attributes.wants_port_changes(port)

    def _program(self, request: Any) -> _Served:
        """The program that a request is about: the one that it names, or that its client is bound to.

        Raises:
            RpcError: there is none, or another one runs.
        """
        check_device(self.device, request.target.device_id)
        client = self.clients.find(request.client_id)
        name = request.p4_name or (None if client is None else client.bound)
        served = self._current()
        if name is None and client is None:
            raise unknown(request.client_id)
        if name is None:
            raise RpcError(Code.NOT_FOUND, f"client {request.client_id} is bound to no program")
        if served is None or name not in {served.tables.name, SHARED}:
            runs = "no program" if served is None else served.tables.name
            raise RpcError(Code.NOT_FOUND, f"no program {name[:80]!r}; this switch runs {runs}")
        return served

    def _check_target(self, target: Any, tables: BfrtTables) -> None:
        if target.pipe_id != _ALL_PIPES and target.pipe_id >= tables.pipes:
            known = f"pipes 0 to {tables.pipes - 1}, and {_ALL_PIPES} for all"
            raise invalid(f"pipe {target.pipe_id}: the program has {known}")


def _each(reader: TableReader, request: Any, errors: list[OfframpError | None]) -> Iterator[Any]:
    """The answers to all entities of a request; the error of each, or None, goes to ``errors``."""
    for entity in request.entities:
        try:
            yield from reader.read(entity, request.target)
            errors.append(None)
        except OfframpError as error:
            errors.append(error)


def _messages(errors: Sequence[OfframpError | None]) -> list[Any]:
    """A ``bfrt_proto.Error`` for each update or entity."""
    statuses = (None if error is None else as_rpc_error(error) for error in errors)
    return [
        bf.Error() if s is None else bf.Error(canonical_code=s.code, message=s.message, space="offramp")
        for s in statuses
    ]
