# SPDX-License-Identifier: Apache-2.0
"""``offramp leo serve`` and ``password``: the key-value store as a service."""

from __future__ import annotations

from dataclasses import dataclass

from offramp_base.errors import OfframpError
from offramp_cli import show
from offramp_cli.command import command


@dataclass(frozen=True)
class NoSettings:
    """A command without options."""


@command("offramp.leo.store.settings:StoreSettings", example="leo serve --resp 127.0.0.1:6379 --folder data")
def serve(settings: object) -> None:
    """Serve LEO's key-value store until Ctrl-C, to clients of libofframp, redis and memcached."""
    from offramp.leo.store.server import StoreServer
    from offramp.leo.store.settings import StoreSettings
    from offramp_base.listening import Token

    assert isinstance(settings, StoreSettings)
    out = show.console(wrap=False)
    with out.status("starting"):
        server = StoreServer(settings, Token.from_environment())
    found = server.found
    if settings.folder is not None:
        cut = f"; {found.torn} bytes of an incomplete record were cut off" if found.torn else ""
        out.print(f"{settings.folder}: {found.keys} keys from {found.records} records{cut}")
    with server:
        for name, address in server.addresses.items():
            out.print(f"{name:<9} {address}")
        server.welcome()


@command(NoSettings, example="leo password")
def password(_: NoSettings) -> None:
    """Print the password of the store for clients of redis and memcached, made of the token."""
    from offramp.leo.store.server import password_of
    from offramp_base.listening import Token

    token = Token.from_environment()
    if token is None:
        raise OfframpError("OFFRAMP_TOKEN_FILE: names no token file; without a token a store has no password")
    show.console(wrap=False).print(password_of(token))
