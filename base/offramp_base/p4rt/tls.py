# SPDX-License-Identifier: Apache-2.0
"""TLS for P4Runtime, with or without certificates of the clients (P4Runtime specification, section 3.1.1)."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from offramp_base.errors import OfframpError


@dataclass(frozen=True)
class Tls:
    """PEM files of one side.

    Attributes:
        cert, key: certificate chain and private key of this side; a server needs them, a client where the server
            asks for its certificate.
        ca: the certificates that the other side's must be signed by. A server with it asks every client for a
            certificate; a client without it trusts what the system trusts.
        server_name: name in the server's certificate, for a client, if it is not that in the address.
    """

    cert: str | None = None
    key: str | None = None
    ca: str | None = None
    server_name: str | None = None

    def check(self, *, server: bool) -> None:
        """Check that the files exist and belong together.

        Raises:
            OfframpError: naming the file.
        """
        if (self.cert is None) != (self.key is None):
            raise OfframpError("TLS: a certificate needs its private key, and the key its certificate")
        if server and self.cert is None:
            raise OfframpError("TLS: a server needs a certificate and its private key")
        for path in (self.cert, self.key, self.ca):
            _read(path)
        purpose = ssl.Purpose.CLIENT_AUTH if server else ssl.Purpose.SERVER_AUTH
        context = ssl.create_default_context(purpose)
        if self.cert is not None:
            try:
                context.load_cert_chain(self.cert, self.key, password="")
            except (ssl.SSLError, OSError):
                raise OfframpError(
                    f"{self.cert}, {self.key}: expected a certificate in PEM and its private key, not encrypted"
                ) from None
        if self.ca is not None:
            try:
                context.load_verify_locations(self.ca)
            except (ssl.SSLError, OSError):
                raise OfframpError(f"{self.ca}: expected certificates in PEM") from None

    def channel_credentials(self) -> Any:
        """The gRPC credentials of a client.

        Raises:
            OfframpError: a file is missing or is not a certificate or key.
        """
        import grpc

        self.check(server=False)
        return grpc.ssl_channel_credentials(_read(self.ca), _read(self.key), _read(self.cert))

    def server_credentials(self) -> Any:
        """The gRPC credentials of a server.

        Raises:
            OfframpError: a file is missing or is not a certificate or key.
        """
        import grpc

        self.check(server=True)
        pair = (_read(self.key), _read(self.cert))
        return grpc.ssl_server_credentials([pair], _read(self.ca), require_client_auth=self.ca is not None)


def _read(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise OfframpError(f"{path}: {error.strerror}") from None
