# SPDX-License-Identifier: Apache-2.0
"""The gRPC server: a thin adapter from the wire to each :class:`~offramp_p4.runtime.wire.ServiceEndpoint`."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Self

import grpc

from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address, parse_address
from offramp_base.p4rt.tls import Tls
from offramp_p4.runtime.calls import MAX_SILENT
from offramp_p4.runtime.handlers import MAX_READS, MAX_STREAMS, UNARY_THREADS, ServerLimits, handlers
from offramp_p4.runtime.wire import ServiceEndpoint

PENDING_CALLS: Final = 1 << 16
"""Calls that wait for a thread; gRPC by itself cancels at random beyond a thousand."""
MAX_MESSAGE: Final = 4 << 20
"""Bytes of a message from anybody."""
MAX_KNOWN_MESSAGE: Final = 64 << 20
"""Bytes of a message where clients show certificates."""
_ROOM: Final = 64
"""Threads for calls that make silent ones give way."""
_IN_HAND: Final = 16
"""Messages of the greatest size that may be under way at one time."""
MAX_ANSWER: Final = 256 << 20
HANDSHAKE_MS: Final = 5_000
IDLE_MS: Final = 60_000
"""Milliseconds that a connection may take for its handshakes, or stay without any call."""
GRACE_S = 1.0


class Server:
    """Serves P4Runtime, BF-RT or gNMI at ``host:port`` or ``unix:PATH``, or several of them; a context manager.

    Port 0 takes a free one; ``address`` then names it. With ``tls`` the connections are encrypted, and with its
    ``ca`` clients must show a certificate. A Unix socket gets mode 0600.

    Args:
        services: services that are served, within the same limits.
        insecure: serve an address that other machines reach although clients show no certificate.
        max_message: bytes of a request; None: :data:`MAX_MESSAGE`, or :data:`MAX_KNOWN_MESSAGE` where clients show
            certificates.

    Attributes:
        protocol: name of the protocol that is served, for people.
        refusals: counts of refusals.

    Raises:
        OfframpError: the address is in use, cannot be bound or is open to strangers, or a certificate is none.
    """

    def __init__(
        self,
        services: ServiceEndpoint | Sequence[ServiceEndpoint],
        address: str,
        tls: Tls | None = None,
        *,
        insecure: bool = False,
        max_message: int | None = None,
    ) -> None:
        certificates = tls is not None and tls.ca is not None
        where = parse_address(address)
        Access(certificates=certificates, insecure=insecure).check(where, "gRPC")
        if max_message is None:
            max_message = MAX_KNOWN_MESSAGE if certificates else MAX_MESSAGE
        if not 1 << 10 <= max_message <= 1 << 30:
            raise OfframpError(f"messages of at most {max_message} bytes: expected 1 KB to 1 GB")
        together = list(services) if isinstance(services, Sequence) else [services]
        self.protocol = ", ".join(service.wire.name for service in together)
        limits = ServerLimits(self.protocol, _IN_HAND * max_message)
        self.refusals, self._silent = limits.refusals, limits.silent
        options = [
            ("grpc.so_reuseport", 0),
            ("grpc.max_receive_message_length", max_message),
            ("grpc.max_send_message_length", MAX_ANSWER),
            ("grpc.server.max_pending_requests", PENDING_CALLS),
            ("grpc.server.max_pending_requests_hard_limit", PENDING_CALLS),
            ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
            ("grpc.max_connection_idle_ms", IDLE_MS),
            # The window of a call does not grow beyond what its handler asks for.
            ("grpc.http2.bdp_probe", 0),
        ]
        most = MAX_SILENT + _ROOM + len(together) * MAX_STREAMS + MAX_READS + UNARY_THREADS
        workers = ThreadPoolExecutor(most, thread_name_prefix=self.protocol)
        self._server = grpc.server(workers, options=options)
        self._server.add_generic_rpc_handlers(tuple(handlers(service, limits) for service in together))
        self.address = self._bind(address, where, tls)

    def _bind(self, address: str, where: Address, tls: Tls | None) -> str:
        credentials = None if tls is None else tls.server_credentials()
        local = where.family == socket.AF_UNIX
        before = os.umask(0o177) if local else None
        try:
            if credentials is None:
                port = self._server.add_insecure_port(str(where))
            else:
                port = self._server.add_secure_port(str(where), credentials)
        except RuntimeError:
            port = 0
        finally:
            if before is not None:
                os.umask(before)
        if port == 0:
            raise OfframpError(f"gRPC address {address}: cannot be bound; is it in use?")
        if local:
            Path(where.where).chmod(0o600)
        return address if local else f"{address.rpartition(':')[0]}:{port}"

    def start(self) -> None:
        """Begin to answer."""
        self._server.start()
        threading.Thread(target=self._silent.watch, name=f"{self.protocol}-silent", daemon=True).start()

    def stop(self) -> None:
        """Stop answering and end all streams."""
        self._server.stop(GRACE_S).wait()
        self._silent.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
