# SPDX-License-Identifier: Apache-2.0
"""The page's server: looks at a cluster periodically, whether or not anybody watches, and answers GETs alone.

``/`` is the page, ``/events`` what it shows as server-sent events, ``/look.json`` the last look, ``/metrics`` the same
for Prometheus. Only this machine reaches it: loopback, or a Unix socket of this user (docs/security.md).
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import logging
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from offramp.cluster.model import Cluster
from offramp.job.metrics import CONTENT_TYPE, metrics
from offramp.job.watch import Look, as_json
from offramp.job.web.connections import SILENT_S, WebConnections
from offramp_base.errors import OfframpError
from offramp_base.listening import Access, Address, parse_address
from offramp_base.listening.sockets import BACKLOG, bind, remove

if TYPE_CHECKING:
    import socket

    from aiohttp import web

WHAT: Final = "job top"
MOST_VIEWERS: Final = 32
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_UNREAD_S: Final = 10.0
"""Longest time that a viewer may leave an event unread."""
_LOG: Final = logging.getLogger(__name__)
_LOG.propagate = False
_LOG.addHandler(logging.NullHandler())  # what clients send is not a fault of ours
Sampler = Callable[[], Look]


def page() -> str:
    """The page, with everything that it needs but the numbers."""
    style = files("offramp.report").joinpath("style.css").read_text("utf-8")
    return files("offramp.job.web").joinpath("page.html").read_text("utf-8").replace("/* style */", style)


def policy(text: str) -> str:
    """The Content Security Policy of a page: of scripts, its own alone."""
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = (b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in scripts)
    allowed = " ".join(f"'sha256-{each}'" for each in digests)
    return f"{_POLICY}; script-src {allowed}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def listen(text: str) -> tuple[socket.socket, Address]:
    """A socket that is bound, and its address; port 0 takes a free one.

    Raises:
        OfframpError: other machines would reach it, or it is not available.
    """
    address = parse_address(text)
    if not address.local:
        raise OfframpError(
            f"{WHAT} {text}: other machines reach this address, and clients would not have to authenticate: expected "
            "127.0.0.1:PORT or unix:PATH; from elsewhere, ssh -L leads there"
        )
    sock = bind(address, Access(), WHAT)
    sock.listen(BACKLOG)  # clients that connect before the server runs wait
    return sock, Address(address.family, sock.getsockname())


class Watcher:
    """Looks at intervals, and hands each look to all waiting clients.

    Attributes:
        looks: number of looks so far.
        cluster: the cluster to observe.
    """

    def __init__(self, cluster: Cluster, sample: Sampler, interval_s: float, most: int | None = None) -> None:
        """``sample`` is called every ``interval_s`` seconds, ``most`` times or until the server ends."""
        self.cluster, self.looks = cluster, 0
        self._sample, self._interval_s, self._most = sample, interval_s, most
        self._now: Look | None = None
        self._before: Look | None = None
        self._news = asyncio.Condition()

    async def run(self) -> None:
        """Look at intervals, until ``most`` looks have been taken."""
        while self._most is None or self.looks < self._most:
            if self.looks:
                await asyncio.sleep(self._interval_s)
            look = await asyncio.to_thread(self._sample)
            async with self._news:
                self._before, self._now = self._now, look
                self.looks += 1
                self._news.notify_all()

    async def after(self, seen: int) -> int:
        """Wait until there are more looks than ``seen``; returns their number."""
        async with self._news:
            await self._news.wait_for(lambda: self.looks > seen)
            return self.looks

    def json(self) -> str:
        """The last look as JSON."""
        return json.dumps({} if self._now is None else as_json(self.cluster, self._now, self._before))

    def metrics(self) -> str:
        """The last look as metrics for Prometheus."""
        return "" if self._now is None else metrics(self.cluster, self._now)


async def serve(sock: socket.socket, watcher: Watcher, silent_s: float = SILENT_S) -> None:
    """Serve until the watcher has looked often enough, or the task is cancelled.

    Raises:
        OfframpError: a sample could not be taken.
    """
    from aiohttp import web

    connections = WebConnections(silent_s)
    app = _application(watcher, connections)
    runner = web.AppRunner(app, access_log=None, logger=_LOG, shutdown_timeout=0.5, keepalive_timeout=silent_s)
    await runner.setup()
    assert runner.server is not None
    accepting = asyncio.create_task(connections.accept(sock, runner.server))
    try:
        await watcher.run()
    finally:
        accepting.cancel()
        await runner.cleanup()
        remove(sock)


def _application(watcher: Watcher, connections: WebConnections) -> web.Application:
    from aiohttp import web

    text = page()
    headers = _HEADERS | {"Content-Security-Policy": policy(text)}
    viewers = 0

    async def show(_: web.Request) -> web.Response:
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def last(_: web.Request) -> web.Response:
        await watcher.after(0)
        return web.Response(text=watcher.json(), content_type="application/json", headers=headers)

    async def scrape(_: web.Request) -> web.Response:
        await watcher.after(0)
        return web.Response(body=watcher.metrics().encode(), headers={**headers, "Content-Type": CONTENT_TYPE})

    async def events(request: web.Request) -> web.StreamResponse:
        nonlocal viewers
        if viewers >= MOST_VIEWERS:
            raise web.HTTPServiceUnavailable(text=f"there are {viewers} viewers\n")
        viewers += 1
        try:
            response = web.StreamResponse(headers={**headers, "Content-Type": "text/event-stream"})
            await response.prepare(request)
            seen = 0
            while True:
                seen = await watcher.after(seen)
                write = response.write(f"data: {watcher.json()}\n\n".encode())
                await asyncio.wait_for(write, _UNREAD_S)
        except ConnectionError:
            return response
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            return response
        finally:
            viewers -= 1

    app = web.Application(middlewares=[_guard(web, connections)], client_max_size=0)
    for path, handler in (("/", show), ("/events", events), ("/look.json", last), ("/metrics", scrape)):
        app.router.add_get(path, handler)
    return app


def _guard(web: Any, connections: WebConnections) -> Any:
    """Refuse pages of others: by another name that has been made to lead here (DNS rebinding), or by their origin."""

    async def check(request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> Any:
        with connections.answering(request.transport):
            if not _is_own_name(request.host):
                raise web.HTTPForbidden(text="expected this machine's own name\n")
            if request.headers.get("Origin", f"http://{request.host}") != f"http://{request.host}":
                raise web.HTTPForbidden(text="expected no page of another origin\n")
            return await handler(request)

    return web.middleware(check)


def _is_own_name(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    try:
        return name == "localhost" or ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False
