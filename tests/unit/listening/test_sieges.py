# SPDX-License-Identifier: Apache-2.0
"""Peers of listeners in the host library while strangers greet them: all answers right, and none late.

``tests/support/sieges.txt`` has the siege of each listener of docs/security.md. Oracle: what the peers sent. Blind to
strangers who fill the line.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from offramp.dgtp.runtime import links
from offramp.dgtp.runtime.wire import CONTROL, PROTOCOL, ConnectionPurpose
from offramp.leo.store.client import StoreClient
from offramp_base.listening import Access, Listener, Token
from siege import assert_undisturbed, besiege
from store_lab import a_store, a_token
from watched import served_alone

ROOT = Path(__file__).parents[3]
Job = Callable[[int], None]
PAIR = ROOT / "tests/support/pair.yaml"
MOST_STEPS = 1 << 20


@contextlib.contextmanager
def web() -> Iterator[tuple[str, Job]]:
    """A browser that asks a job's page for its last look, by connections of its own; the server is a process."""
    pytest.importorskip("aiohttp")
    with served_alone(PAIR) as url:
        where = urllib.parse.urlsplit(url).netloc

        def step(_: int) -> None:
            connection = http.client.HTTPConnection(where, timeout=30)
            connection.request("GET", "/look.json")
            assert json.loads(connection.getresponse().read())["switches"]["leaf1"]["pages"] == 30
            connection.close()

        yield where, step


@contextlib.contextmanager
def dgtp() -> Iterator[tuple[str, Job]]:
    """Processes of DGTP that meet, one after the other."""
    token, session = Token.random(), "of this run"
    listener = Listener("127.0.0.1:0", Access(token), PROTOCOL)
    expected = {ConnectionPurpose(CONTROL, number) for number in range(MOST_STEPS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "_MEET_S", 3600.0)
        accepting = links._Accepting(listener, session, expected)
        accepting.start()

        def step(number: int) -> None:
            purpose = ConnectionPurpose(CONTROL, number)
            with links._dialled(listener.address, token, purpose.greeting(session), "a rank") as sock:
                while purpose not in accepting.accepted:  # its thread says yes first, and then keeps the connection
                    time.sleep(1e-5)
                accepting.accepted.pop(purpose).sendall(b"welcome")
                assert sock.recv(16) == b"welcome"

        try:
            yield listener.address, step
        finally:
            expected.clear()
            accepting.join(30)
            listener.close()


@contextlib.contextmanager
def store() -> Iterator[tuple[str, Job]]:
    """Values of a store that are written and read by libofframp."""
    with (
        a_token() as token,
        a_store(listen="127.0.0.1:0") as process,
        StoreClient(process.addresses["listen"], token) as client,
    ):

        def step(number: int) -> None:
            client.set({b"k": b"%d" % number})
            assert client.get([b"k"]) == [b"%d" % number]

        yield process.addresses["listen"], step


JOBS = {"web": web, "DGTP": dgtp, "store": store}


@pytest.mark.full
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_a_job_is_right_while_strangers_greet(job: Callable[[], contextlib.AbstractContextManager]) -> None:
    with job() as (address, step):
        besiege(address, step, 400, 0, 1)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_ten_thousand_strangers_do_not_slow_a_job(job: Callable[[], contextlib.AbstractContextManager]) -> None:
    with job() as (address, step):
        assert_undisturbed(address, step)


def test_every_listener_of_the_page_has_a_siege() -> None:
    section = (ROOT / "docs/security.md").read_text("utf-8").partition("\n## Listeners\n")[2].partition("\n## ")[0]
    listeners = [line.split("|")[2].strip() for line in section.splitlines() if line.startswith("|")][2:]
    lines = (ROOT / "tests/support/sieges.txt").read_text("utf-8").splitlines()
    rows = [re.split(r"\s{2,}", line) for line in lines if line and not line.startswith("#")]
    assert [row[0] for row in rows] == [re.split(r"[,;(]", each)[0].strip() for each in listeners]
    for name, test, *job in rows:
        if test != "none":
            source = (ROOT / test).read_text("utf-8")
            assert "besiege" in source, f"{name}: {test}"
            assert all(f'"{each}"' in source or each in source for each in job), f"{name}: {job}"
