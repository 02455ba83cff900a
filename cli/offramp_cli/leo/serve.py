# SPDX-License-Identifier: Apache-2.0
"""``offramp leo serve`` and ``password``: an application, or the key-value store, as a service."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

from offramp_base import Field, OfframpError, SettingsError
from offramp_cli import show
from offramp_cli.command import command
from offramp_cli.leo.application import ApplicationSettings

if TYPE_CHECKING:
    from rich.console import Console

    from offramp.leo import StoreSettings
    from offramp.leo.kvcache.settings import CacheSettings
    from offramp.leo.store.server import StoreServer


@dataclass(frozen=True)
class NoSettings:
    """A command without options."""


@dataclass(frozen=True, kw_only=True)
class ServedApplication(ApplicationSettings):
    """The application to serve; without one, the key-value store."""

    names: Annotated[
        tuple[str, ...],
        Field(
            "kvs, store (a running one), dfs, ebs, allreduce, or YAML files of an application and a host; none: the "
            "key-value store",
            position=True,
            metavar="NAME|FILE…",
        ),
    ] = ()
    requesters: Annotated[int, Field("Most requesters of an application at a time", least=1, most=64)] = 4
    restarts: Annotated[int, Field("How often to restart a responder that has died", least=0)] = 1000


_STORE_ONLY = (
    "resp",
    "memcached",
    "shards",
    "follow",
    "folder",
    "sync",
    "cut",
    "memory",
    "eviction",
    "value_bytes",
    "connections",
    "spin_us",
)


@command(
    ServedApplication,
    "offramp.leo.store.settings:StoreSettings",
    "offramp.leo.kvcache.settings:CacheSettings",
    example="leo serve --resp 127.0.0.1:6379 --folder data",
)
def serve(served: ServedApplication, settings: object, cache: object) -> None:
    """Serve an application to requesters (leo connect), or the key-value store to clients, until Ctrl-C."""
    from offramp.leo import StoreSettings
    from offramp.leo.kvcache.settings import CacheSettings

    assert isinstance(settings, StoreSettings)
    assert isinstance(cache, CacheSettings)
    if served.names:
        _expect_usual(settings, _STORE_ONLY)
        _expect_usual(cache, [field.name for field in fields(cache)])
        _serve_application(served, settings)
    else:
        for name in ("device", "code", "data_folder"):
            if values := getattr(served, name):
                raise SettingsError(name, "expected with an application", ", ".join(values))
        cache.check_access(settings.insecure)
        _serve_store(settings, cache)


def _expect_usual(settings: object, names: Iterable[str]) -> None:
    usual = type(settings)()
    for name in names:
        if getattr(settings, name) != getattr(usual, name):
            raise SettingsError(
                name, "is an option of the key-value store, not of an application", str(getattr(settings, name))
            )


def _serve_application(served: ServedApplication, settings: StoreSettings) -> None:
    from offramp.leo.applications.remote import open_responder, serve_application

    out = show.console(wrap=False)
    with out.status("starting"):
        application = served.open("tcp")
        process = open_responder(
            application,
            settings.listen,
            requesters=served.requesters,
            restarts=served.restarts,
            insecure=settings.insecure,
        )
    try:
        out.print(f"{application.name} at {process.address} (pid {process.pid}), paths {', '.join(application.paths)}")
        serve_application(application, process, out.print)
    finally:
        process.close()


def _serve_store(settings: StoreSettings, cache: CacheSettings) -> None:
    from offramp.leo.kvcache.service import front_of
    from offramp.leo.store.server import StoreServer
    from offramp_base.listening import Token

    out, token = show.console(wrap=False), Token.from_environment()
    if cache.cache_link and not settings.listen:
        raise SettingsError("listen", "expected an address, by which {cache_link} reaches the store")
    if cache.cache_link and token is None:
        raise OfframpError("a switch guards keys of the store, which needs a token: set OFFRAMP_TOKEN_FILE")
    with ExitStack() as stack:
        with out.status("starting"):
            # The switch forgets what it holds before the store takes writes.
            front = stack.enter_context(front_of(cache, token)) if cache.cache_link else None
            server = stack.enter_context(StoreServer(settings, token))
        _announce(out, settings, server)
        if front is not None:
            service = stack.enter_context(front(server.addresses["listen"], server.stop))
            out.print(f"switch    {cache.cache_switch} by {cache.cache_link}")
        server.welcome()
        if front is not None and service.fault:
            raise OfframpError(service.fault)


def _announce(out: Console, settings: StoreSettings, server: StoreServer) -> None:
    recovered = server.recovered
    if settings.folder is not None:
        cut = f"; {recovered.torn} bytes of an incomplete record were cut off" if recovered.torn else ""
        out.print(f"{settings.folder}: {recovered.keys} keys from {recovered.records} records{cut}")
    for name, address in server.addresses.items():
        out.print(f"{name:<9} {address}")


@command(NoSettings, example="leo password")
def password(_: NoSettings) -> None:
    """Print the store's password for clients of redis and memcached; it is derived from the token."""
    from offramp.leo.store.server import password_of
    from offramp_base.listening import Token

    token = Token.from_environment()
    if token is None:
        raise OfframpError("OFFRAMP_TOKEN_FILE: names no token file; without a token a store has no password")
    show.console(wrap=False).print(password_of(token))
