# SPDX-License-Identifier: Apache-2.0
"""libofframp for programs: C, Go, Rust and Java, Python's clients, plug-ins.

Programs in Go need Debian's golang-go, in Rust rustc, in Java a JDK and libjna-java; they skip without.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from offramp.device import Status
from offramp.leo.devices.plugin import PluginDevice
from offramp.leo.store.build import build, source_root
from offramp.leo.store.client import AsyncClient, StoreClient, StoreError
from offramp.leo.store.process import StoreProcess
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from store_lab import a_store, needs_compiler

EXAMPLES = source_root() / "examples"
JNA = Path("/usr/share/java/jna.jar")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library where a package would put it."""
    needs_compiler()
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(["cmake", "--install", str(build()), "--prefix", str(folder)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def token(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "job.token"
    Token.random().write(path)
    return path


@pytest.fixture
def store(token: Path) -> Iterator[StoreProcess]:
    from offramp.leo.store.settings import StoreSettings

    needs_compiler()
    with StoreProcess(StoreSettings(listen="127.0.0.1:0"), Token.read(token)) as running:
        yield running


def compiler(language: str, installed: Path, out: Path) -> tuple[list[str], dict[str, str]]:
    """The command that builds the example, and variables for it."""
    libraries = installed / "lib"
    if language == "c":
        flags = ["-Wall", "-Wextra", "-Werror", f"-I{installed}/include", f"-L{libraries}", "-lofframp"]
        return ["gcc", str(EXAMPLES / "count.c"), "-o", str(out), *flags], {}
    if language == "go":
        if shutil.which("go") is None or shutil.which("pkg-config") is None:
            pytest.skip("Go programs need golang-go and pkg-config")
        cache = {"GOCACHE": f"{out}.cache", "GO111MODULE": "off", "GOFLAGS": "", "CGO_ENABLED": "1"}
        cache |= {"PKG_CONFIG_PATH": f"{libraries}/pkgconfig", "CGO_LDFLAGS_ALLOW": ".*"}
        return ["go", "build", "-o", str(out), str(EXAMPLES / "count.go")], cache
    if language == "java":
        if shutil.which("javac") is None or not JNA.is_file():
            pytest.skip("Java programs need a JDK and libjna-java")
        return ["javac", "-cp", str(JNA), "-d", f"{out}.classes", str(EXAMPLES / "count.java")], {}
    if shutil.which("rustc") is None:
        pytest.skip("Rust programs need rustc")
    return ["rustc", "-o", str(out), "-L", str(libraries), "-l", "offramp", str(EXAMPLES / "count.rs")], {}


def program(language: str, out: Path) -> list[str]:
    """The command that runs it, without its arguments."""
    if language == "java":
        return ["java", "-cp", f"{JNA}:{out}.classes", "count"]
    return [str(out)]


@pytest.mark.parametrize("language", ["c", "go", "rs", "java"])
def test_a_program_of_less_than_60_lines(
    language: str, installed: Path, tmp_path: Path, store: StoreProcess, token: Path
) -> None:
    """The token is proved by the library's own HMAC to Python's listener."""
    assert len((EXAMPLES / f"count.{language}").read_text().splitlines()) < 60
    command, variables = compiler(language, installed, tmp_path / "count")
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    environment = {**os.environ, "LD_LIBRARY_PATH": str(installed / "lib"), "OFFRAMP_TOKEN_FILE": str(token)}
    command = [*program(language, tmp_path / "count"), store.addresses["listen"]]
    done = subprocess.run(
        [*command, "to", "be", "or", "to"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["to 1", "be 1", "or 1", "to 2"]
    other = tmp_path / "other.token"
    Token.random().write(other)
    environment["OFFRAMP_TOKEN_FILE"] = str(other)
    done = subprocess.run([*command, "to"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "does not accept the token" in done.stderr


def test_batches_from_python(store: StoreProcess, token: Path) -> None:
    with StoreClient(store.addresses["listen"], Token.read(token)) as client:
        keys = [b"key%d" % i for i in range(3000)]
        client.set({key: key * 10 for key in keys})
        assert client.get([*keys, b"none"]) == [*[key * 10 for key in keys], None]
        assert client.add([b"n", b"n"], 5) == [5, 10]
        assert client.compare_and_set([(b"n", b"10", b"x"), (b"n", b"10", b"y"), (b"none", b"", b"")]) == [
            True,
            False,
            False,
        ]
        assert client.delete([b"n", b"n"]) == [True, False]
        client.set({b"soon": b"1"}, expiry_ms=20)
        time.sleep(0.05)
        assert client.get([b"soon"]) == [None]
        with pytest.raises(StoreError, match="not an integer"):
            client.add([b"key1"])
        big = os.urandom(1 << 20)
        client.set(dict.fromkeys(keys[:20], big))
        assert client.get(keys[:20]) == [big] * 20


def test_many_tasks_share_a_connection(store: StoreProcess, token: Path) -> None:
    async def count() -> None:
        async with await AsyncClient.open(store.addresses["listen"], Token.read(token)) as client:
            await asyncio.gather(*(client.add([b"a", b"b"]) for _ in range(2000)))
            assert await client.get([b"a", b"b", b"c"]) == [b"2000", b"2000", None]
            big = os.urandom(1 << 20)
            await asyncio.gather(*(client.set({b"big%d" % i: big}) for i in range(20)))
            assert await asyncio.gather(*(client.get([b"big%d" % i]) for i in range(20))) == [[big]] * 20
            task = asyncio.create_task(client.get([b"a"]))
            await asyncio.sleep(0)
            task.cancel()
            assert await client.get([b"b"]) == [b"2000"]
            store.kill()
            with pytest.raises(OfframpError, match=r"requests have no answer|closed"):
                await asyncio.gather(*(client.get([b"a"]) for _ in range(3)))

    asyncio.run(asyncio.wait_for(count(), 60))


def test_a_server_that_dies_is_named_at_once(store: StoreProcess, token: Path) -> None:
    with StoreClient(store.addresses["listen"], Token.read(token)) as client:
        store.kill()
        began = time.monotonic()
        with pytest.raises(OfframpError, match=store.addresses["listen"]):
            client.get([b"a"])
        assert time.monotonic() - began < 1


@pytest.mark.bench
def test_a_request_in_a_batch_costs_less_than_3_us(store: StoreProcess, token: Path) -> None:
    keys = [b"key%08d" % i for i in range(64)]
    with StoreClient(store.addresses["listen"], Token.read(token)) as client:
        client.set(dict.fromkeys(keys, b"v" * 64))
        times = []
        for _ in range(7):
            began = time.process_time()
            for _ in range(500):
                client.get(keys)
            times.append((time.process_time() - began) / 500 / 64 * 1e6)
    print(f"processor time of a request in batches of 64: {min(times):.2f} us")  # noqa: T201
    assert min(times) < 3


@pytest.mark.bench
@pytest.mark.parametrize("tasks", [1, 8])
def test_a_request_in_a_batch_of_asyncio_costs_less_than_3_us(tasks: int, store: StoreProcess, token: Path) -> None:
    """Gets and sets of 64 keys by turns; the event loop's own time included."""
    items = {b"key%08d" % i: b"v" * 64 for i in range(64)}
    keys, rounds = list(items), 400

    async def work(client: AsyncClient) -> None:
        for _ in range(rounds // tasks // 2):
            await client.set(items)
            assert await client.get(keys) == list(items.values())

    async def measure() -> list[float]:
        async with await AsyncClient.open(store.addresses["listen"], Token.read(token)) as client:
            times = []
            for _ in range(7):
                began = time.process_time()
                await asyncio.gather(*(work(client) for _ in range(tasks)))
                times.append((time.process_time() - began) / rounds / 64 * 1e6)
            return times

    times = asyncio.run(asyncio.wait_for(measure(), 60))
    print(f"asyncio, {tasks} tasks: {min(times):.2f} us of processor time for a request in batches of 64")  # noqa: T201
    assert min(times) < 3


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plugin") / "reverse.so"
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", f"-I{source_root() / 'include'}"]
    subprocess.run(["gcc", *flags, str(EXAMPLES / "reverse.c"), "-o", str(path)], check=True)
    return path


def test_functions_of_a_plug_in(plugin: Path) -> None:
    device = PluginDevice(str(plugin))
    assert device.kind == "cpu"
    assert device.functions == ("reverse",)
    for number, (function, message) in enumerate(
        [("reverse", b"abc"), ("reverse", b""), ("other", b""), ("reverse", b"x" * 65537)]
    ):
        assert device.submit(function, number, message)
    completions = [(c.request, c.status, c.message) for c in device.poll()]
    assert completions == [
        (0, Status.OK, b"cba"),
        (1, Status.OK, b""),
        (2, Status.UNKNOWN_FUNCTION, b""),
        (3, Status.BAD_LENGTH, b""),
    ]
    device.close()


def test_what_is_no_plug_in_is_refused(plugin: Path, tmp_path: Path) -> None:
    text = (EXAMPLES / "reverse.c").read_text()
    flags = ["-shared", "-fPIC", f"-I{source_root() / 'include'}", "-x", "c", "-"]
    for name, change in (
        ("version", (".abi = OFFRAMP_PLUGIN_ABI", ".abi = 7")),
        ("symbol", ("OFFRAMP_PLUGIN_SYMBOL =", "something_else =")),
        ("kind", ('"cpu"', '"toaster"')),
    ):
        path = tmp_path / f"{name}.so"
        subprocess.run(["gcc", *flags, "-o", str(path)], input=text.replace(*change), text=True, check=True)
        with pytest.raises(OfframpError, match=r"interface 7|undefined symbol|expected a kind"):
            PluginDevice(str(path))
    with pytest.raises(OfframpError, match="cannot open shared object"):
        PluginDevice(str(tmp_path / "none.so"))


def test_a_store_without_a_token_asks_for_none() -> None:
    with a_store(listen="127.0.0.1:0") as store, StoreClient(store.addresses["listen"]) as client:
        assert client.get([b"a"]) == [None]
