# SPDX-License-Identifier: Apache-2.0
"""``offramp leo serve`` and ``connect``: an application between machines, which here are two network namespaces.

The paths are the responder's CPU, a second device (a model) and the FPGA's cycle model. Blind to: machines with clocks
and page caches of their own, and networks that lose packets.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import namespaces
from leo_lab import batch, program
from namespaces import Namespace
from offramp.leo.applications.named import open_application
from offramp.leo.applications.remote import RequesterLoad, open_responder, request_from, serve_application
from offramp.leo.native.dataflow import Trip
from offramp.leo.native.functions import ADD, READ
from offramp.leo.runtime.requester import Requester, RequesterSettings
from offramp.leo.transports.ucx import library
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from offramp_cli.app import app

OFFRAMP = [sys.executable, "-m", "offramp"]
DEVICES = ["--device", "model=model:service_us=10,table_bytes=8388608", "--device", "fpga=fpga-model:"]


@pytest.fixture
def token(tmp_path, monkeypatch):
    path = tmp_path / "job.token"
    Token(secrets.token_hex(16).encode()).write(path)
    monkeypatch.setenv("OFFRAMP_TOKEN_FILE", str(path))
    return path


@contextlib.contextmanager
def serving(listen, *more, before=(), names=("kvs",)):
    """The command, the address that it prints, and its responder's process."""
    command = [*before, *OFFRAMP, "leo", "serve", *names, "--listen", listen, *more]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            match = re.search(r" at (\S+) \(pid (\d+)\)", line)
            assert match, line
            yield process, match[1], int(match[2])
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(30)
    assert process.returncode == 130


def connect(address, requests, *more, before=(), names=("kvs",)):
    """A requester in a process, whose numbers are its output."""
    words = ["leo", "connect", *names, "--to", address, "--requests", str(requests), *more, "--json", "-"]
    return subprocess.Popen([*before, *OFFRAMP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def numbers_of(process):
    out, err = process.communicate(timeout=480)
    assert process.returncode == 0, err + out
    return json.loads(out[out.index("{") :])


def again(process):
    """The responder's process after it has died, as the command says."""
    return int(re.search(r"is served again \(pid (\d+)\)", process.stdout.readline())[1])


@contextlib.contextmanager
def machines():
    """Two namespaces that a wire joins, and the responder's address in the first."""
    namespaces.require()
    with Namespace() as one, Namespace() as other:
        one.veth("wire0", "wire1")
        one.run("ip", "link", "set", "wire1", "netns", other.name)
        for machine, wire, address in ((one, "wire0", "10.79.0.1"), (other, "wire1", "10.79.0.2")):
            machine.run("ip", "address", "add", f"{address}/24", "dev", wire)
            machine.run("ip", "link", "set", wire, "up")
        yield one, other, "10.79.0.1:7878"


def four_requesters(requests, listen=None, transport="tcp", *serve_more):
    """Four requesters of one machine at a responder of the other; the seconds that they took."""
    with (
        machines() as (one, other, address),
        serving(listen or address, *DEVICES, *serve_more, before=one.command) as (_, where, _),
    ):
        begun = time.monotonic()
        more = [*DEVICES, "--workload", "B", "--transport", transport]
        running = [connect(where, requests, *more, "--seed", str(i), before=other.command) for i in range(4)]
        results = [numbers_of(process) for process in running]
        seconds = time.monotonic() - begun
    assert [numbers["sent"] for numbers in results] == [requests] * 4
    assert [numbers["wrong"] for numbers in results] == [0] * 4
    total = {path: sum(numbers["by_path"][path] for numbers in results) for path in ("cpu", "model", "fpga")}
    assert sum(total.values()) == 4 * requests
    assert all(total.values()), total
    return seconds


@pytest.mark.full
@pytest.mark.netns
def test_four_requesters_on_another_machine(token):
    four_requesters(4000)


@pytest.mark.full
@pytest.mark.netns
def test_four_requesters_over_shared_memory_in_a_folder_of_both_machines(token, tmp_path):
    four_requesters(4000, f"unix:{tmp_path / 'leo'}", "shm")


@pytest.mark.full
@pytest.mark.netns
def test_four_requesters_over_ucx(token, monkeypatch):
    """UCX itself proves nothing, so a responder for other machines takes it with --insecure alone."""
    try:
        library()
    except OfframpError as error:
        pytest.skip(str(error))
    if "UCX_TLS" not in os.environ:  # the guest has verbs (tests/guest)
        monkeypatch.setenv("UCX_TLS", "tcp,self")
    four_requesters(4000, None, "ucx", "--insecure")


@pytest.mark.slow
@pytest.mark.netns
def test_ten_million_requests(token, capsys):
    """``python -m pytest -m slow tests/unit/leo/test_remote.py``."""
    seconds = four_requesters(2_500_000)
    with capsys.disabled():
        print(f"\n10,000,000 requests of four requesters in {seconds:.0f} s, 0 wrong")  # noqa: T201


@pytest.mark.full
@pytest.mark.netns
def test_another_machine_needs_the_token(token, tmp_path, monkeypatch):
    with machines() as (one, other, address):
        with serving(address, before=one.command) as (_, where, _):
            Token(b"of somebody else" * 2).write(tmp_path / "other.token")
            monkeypatch.setenv("OFFRAMP_TOKEN_FILE", str(tmp_path / "other.token"))
            stranger = connect(where, 10, "--paths", "cpu", before=other.command)
            _, err = stranger.communicate(timeout=60)
            assert stranger.returncode != 0
            assert where in err
            assert "token" in err
        monkeypatch.delenv("OFFRAMP_TOKEN_FILE")
        refused = subprocess.run(
            [*one.command, *OFFRAMP, "leo", "serve", "kvs", "--listen", address],
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode != 0
        assert "other machines reach this address; it needs a token" in refused.stderr


@pytest.mark.full
def test_a_responder_that_dies_is_named_within_a_second_and_comes_back(token):
    """Killed three times under load: each time the requester says so, and all that was asked is answered."""
    said, killed = [], []
    with serving("127.0.0.1:0", *DEVICES) as (process, address, pid):
        pids = [pid]
        application = open_application(
            ["kvs"],
            devices={"model": "model:service_us=10,table_bytes=8388608", "fpga": "fpga-model:"},
            transport="tcp",
            workload="B",
        )

        def say(line):
            said.append((time.monotonic(), line))
            if "is back" in line:
                pids.append(again(process))

        def advance(done, total):
            if len(killed) < 3 and len(pids) > len(killed) and done > total * (len(killed) + 1) // 8:
                killed.append((time.monotonic(), pids[-1]))
                os.kill(pids[-1], signal.SIGKILL)

        outcome, _, away = request_from(application, address, RequesterLoad(requests=1_000_000), say, advance)
    assert (outcome.sent, outcome.wrong, int(outcome.by_path.sum())) == (1_000_000, 0, 1_000_000)
    assert away == len(killed) == 3
    for (at, pid), (named, line), (_, back) in zip(killed, said[::2], said[1::2], strict=True):
        assert line.startswith(f"responder at {address} (pid {pid}) is gone: ")
        assert line.endswith(" requests wait")
        assert named - at < 1.0
        assert back.startswith("the responder is back after ")


@pytest.mark.full
def test_additions_are_made_once_though_the_responder_dies(token):
    """The journal is the supervisor's: 600 additions to one word, three deaths, and the word is 600."""
    count, deaths = 600, 3
    flows = [[(Trip(ADD, once=True),)], [(Trip(READ),)]]
    with serving("127.0.0.1:0") as (process, address, pid):
        settings = RequesterSettings(rows=64, stride=64, transport="tcp", token=Token.from_environment(), lost_s=30)
        requester = Requester(program(flows), [address], settings=settings)
        adding = np.array([0, 1], np.int64).tobytes()
        sent = ended = killed = 0
        while ended < count:
            if sent < count:
                sent += requester.admit(batch([adding]), np.array([sent]))
            if killed < deaths and ended > (killed + 1) * count // 5 and not requester.absent():
                if killed:
                    pid = again(process)
                os.kill(pid, signal.SIGKILL)
                killed += 1
            requester.step()
            done = requester.collect()
            assert not done.statuses.any()
            ended += done.count
        assert requester.reconnects == killed == deaths
        reading = np.array([0], np.int64).tobytes() + np.array([8], np.int32).tobytes()
        assert requester.admit(batch([reading], kinds=[1]), np.array([0])) == 1
        done = requester.collect()
        while not done.count:
            requester.step()
            done = requester.collect()
        assert int.from_bytes(done.answer(0), "little") == count
        requester.close()


@pytest.mark.full
def test_one_that_stays_away_is_an_error(token):
    with serving("127.0.0.1:0", "--restarts", "0") as (process, address, pid):
        application = open_application(["kvs"], devices={}, paths=("cpu",), transport="tcp")

        def advance(done, total):
            del done, total
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

        with pytest.raises(OfframpError, match=rf"responder at {address} \(pid {pid}\) is gone: .* have not ended"):
            request_from(application, address, RequesterLoad(seconds=20, wait_s=0.2), lambda _: None, advance)
        process.wait(30)
        assert process.returncode == 2
        process.returncode = 130  # it said why and ended; the signal finds nobody


@pytest.mark.full
def test_the_supervisor_starts_it_again(token):
    application = open_application(["kvs"], devices={}, paths=("cpu",), transport="tcp")
    process = open_responder(application, "127.0.0.1:0", requesters=1, restarts=1, insecure=False)
    said = []

    def say(line):
        said.append(line)
        process.signal(signal.SIGKILL)

    try:
        process.signal(signal.SIGKILL)
        with pytest.raises(OfframpError, match=r"was killed by SIGKILL; it was started again 1 times already"):
            serve_application(application, process, say)
    finally:
        process.close()
    assert len(said) == 1
    assert "was killed by SIGKILL; kvs (YCSB-C) is served again (pid " in said[0]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["serve", "kvs", "--resp", "127.0.0.1:0"], "--resp 127.0.0.1:0: is an option of the key-value store"),
        (["serve", "--device", "m=cpu:1"], "--device m: expected with an application"),
        (["serve", "kvs", "--listen", "0.0.0.0:0"], "it needs a token"),
        (["serve", "none"], "none"),
        (["connect", "kvs", "--to", "127.0.0.1:1"], "127.0.0.1:1"),
        (["connect", "kvs", "--to", "127.0.0.1:1", "--transport", "shm"], "shared memory needs a Unix socket"),
        (["connect", "kvs", "--paths", "gpu"], "--paths gpu: kvs (YCSB-C) has cpu, model"),
    ],
)
def test_bad_input_is_one_line(arguments, line, monkeypatch):
    monkeypatch.delenv("OFFRAMP_TOKEN_FILE", raising=False)
    result = CliRunner().invoke(app, ["leo", *arguments])
    text = result.output + str(result.exception or "")
    assert result.exit_code != 0
    assert line in text
    assert "Traceback" not in result.output
