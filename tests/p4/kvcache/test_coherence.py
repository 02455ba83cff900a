# SPDX-License-Identifier: Apache-2.0
"""The switch's cache never answers with what is older than what anybody was told, whatever the network does.

Clients, front and control plane work in one thread over a network that loses, doubles and delays frames on every link,
in front of the store itself, which other clients use by redis' protocol, without the switch. What each client was told
is checked like a register's history: versions never fall between an operation that ended and one that began later,
every version has one value, and a write is executed once.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field

import pytest

from offramp.leo.kvcache.control import CacheControl
from offramp.leo.kvcache.executed import MOST_CLIENTS, Executed
from offramp.leo.kvcache.front import Front
from offramp.leo.kvcache.wire import NOTE_CLIENT, REMEMBERED, CacheFrame, CacheFrameType
from offramp.leo.store.client import StoreClient, StoreConnection, encode_versioned, versioned
from offramp.leo.store.process import StoreProcess
from offramp.leo.store.settings import StoreSettings
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from offramp_base.listening import Token
from p4rt_lab import Lab

KEYS = 12
STORE_PORT = 1
STORE_MAC = bytes.fromhex("0a0000000001")
TOKEN = Token.random()


@pytest.fixture(scope="module")
def address():
    """A store's."""
    with StoreProcess(StoreSettings(listen="127.0.0.1:0"), TOKEN) as store:
        yield store.addresses["listen"]


def name(key: int) -> bytes:
    return key.to_bytes(8, "little")


def mac(client: int) -> bytes:
    return STORE_MAC[:4] + (client + 16).to_bytes(2, "big")


def value_of(key: int, client: int, request: int) -> bytes:
    return (key.to_bytes(8, "big") + client.to_bytes(4, "big") + request.to_bytes(4, "big")) * 4


@dataclass
class Operation:
    """A client's operation, and when it began and ended."""

    frame: CacheFrame
    begun: int
    due: int
    ended: int = -1
    answered: CacheFrame | None = None


@dataclass
class World:
    """A switch, a store, clients, and frames that are on their way."""

    lab: Lab
    address: str
    rng: random.Random
    trouble: float
    clients: int = 3
    direct: int = 2
    keys: int = KEYS
    now: int = 0
    flying: list[tuple[int, int, str, bytes]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    open: dict[int, Operation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with StoreClient(self.address, TOKEN) as client:
            client.set({name(key): value_of(key, 0, 0) for key in range(self.keys)})
        self.control = CacheControl(self.lab.session, STORE_PORT)
        self.control.forward({STORE_MAC: STORE_PORT} | {mac(c): 2 + c for c in range(self.clients)})
        self.front = Front(self.address, STORE_MAC, self.control, TOKEN)
        self.connections = [StoreConnection(self.address, TOKEN) for _ in range(self.direct)]
        self.requests = [0] * (self.clients + self.direct)
        self.by_switch = self.directly = 0

    def close(self) -> None:
        self.front.close()
        for connection in self.connections:
            connection.close()

    def send(self, where: str, port: int, content: bytes) -> None:
        """Over a link that may lose, double and delay."""
        if self.rng.random() < self.trouble:
            return
        for _ in range(1 + (self.rng.random() < self.trouble)):
            late = self.rng.randint(1, 60) if self.rng.random() < self.trouble else 1
            self.flying.append((self.now + late, port, where, content))

    def step(self) -> None:
        """One moment: frames that are due arrive, clients go on, and the control plane may change its mind."""
        self.now += 1
        due = [each for each in self.flying if each[0] <= self.now]
        self.flying = [each for each in self.flying if each[0] > self.now]
        self.rng.shuffle(due)
        for _, port, where, content in due:
            if where == "switch":
                for out, frame in self.lab.packets(port, content):
                    self.send("end", out, frame)
            elif port == STORE_PORT:
                self.front.handle(CacheFrame.parse(content))
            else:
                self.hear(port - 2, CacheFrame.parse(content))
        if self.front.busy:
            time.sleep(1e-4)  # the store is another process
        for frame in self.front.poll():
            self.send("switch", STORE_PORT, frame.pack())
        for client in range(self.clients):
            self.go_on(client)
        for number, connection in enumerate(self.connections):
            self.go_on_directly(self.clients + number, connection)
        if self.rng.random() < 0.03:
            self.control_plane()

    def hear(self, client: int, frame: CacheFrame) -> None:
        operation = self.open.get(client)
        assert frame.client == client
        if operation is not None and frame.request == operation.frame.request and frame.kind is CacheFrameType.REPLY:
            operation.ended, operation.answered = self.now, frame
            self.by_switch += frame.by_switch
            del self.open[client]

    def go_on_directly(self, client: int, connection: StoreConnection) -> None:
        """A client of the store, over no link that could fail."""
        operation = self.open.get(client)
        if operation is not None:
            for answer in connection.poll():
                version, value = versioned(answer)
                reply = operation.frame.answer(self.front._shown(version), value or operation.frame.value)
                operation.ended, operation.answered = self.now, reply
                self.directly += 1
                del self.open[client]
        elif self.rng.random() < 0.3:
            frame = self.begin(client).frame
            connection.submit(
                encode_versioned(name(frame.key), frame.value if frame.kind is CacheFrameType.PUT else None), 1
            )

    def begin(self, client: int) -> Operation:
        self.requests[client] += 1
        key, request = self.rng.randrange(self.keys), self.requests[client]
        kind = CacheFrameType.PUT if self.rng.random() < 0.3 else CacheFrameType.GET
        value = value_of(key, client + 1, request) if kind is CacheFrameType.PUT else bytes(64)
        frame = CacheFrame(STORE_MAC, mac(client), kind, client, request, key, 0, value)
        operation = self.open[client] = Operation(frame, self.now, self.now)
        self.operations.append(operation)
        return operation

    def go_on(self, client: int) -> None:
        operation = self.open.get(client) or self.begin(client)
        if operation.due <= self.now:
            operation.due = self.now + 20
            self.send("switch", 2 + client, operation.frame.pack())

    def control_plane(self) -> None:
        """Hold and forget at random; a key that comes in may be followed for long before it is served."""
        held = self.control.held | self.control.followed
        if self.rng.random() < 0.7:
            self.front.hold({*held, self.rng.randrange(self.keys)})
        elif held:
            self.front.hold(held - {self.rng.choice(sorted(held))})


def check(operations: list[Operation]) -> None:
    """As of one register for each key."""
    ended = [each for each in operations if each.answered is not None]
    values: dict[tuple[int, int], bytes] = {}
    writes: dict[tuple[int, int], Operation] = {}
    for each in ended:
        at = each.frame.key, each.answered.version
        assert each.answered.key == each.frame.key
        assert values.setdefault(at, each.answered.value) == each.answered.value, "a version has one value"
        if each.frame.kind is CacheFrameType.PUT:
            assert each.answered.value == each.frame.value, "a write is told of its own value"
            assert writes.setdefault(at, each) is each, "two writes have one version"
    for one in ended:
        for other in ended:
            if one.frame.key == other.frame.key and one.ended < other.begun:
                assert other.answered.version >= one.answered.version, (one, other)
                if other.frame.kind is CacheFrameType.PUT:
                    assert other.answered.version > one.answered.version, (one, other)


def lab_of(target: str) -> Lab:
    return laboratory(*target.split("-"))


def laboratory(name: str, engine: str) -> Lab:
    return Lab(engine, _Inlined(p4_text(f"kvcache/{name}.p4", {"SLOTS": 4})))


class _Inlined:
    """A program whose includes stand in it, as a controller pushes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_bytes(self) -> bytes:
        return self._text.encode()


TARGETS = ["v1model-python", "v1model-native", "tna-python", "tna-native"]


def run(world: World, steps: int) -> list[Operation]:
    try:
        for _ in range(steps):
            world.step()
    finally:
        world.trouble = 0
        world.close()
    return world.operations


@pytest.mark.full
@pytest.mark.parametrize("trouble", [0.0, 0.2])
@pytest.mark.parametrize("target", TARGETS)
def test_nobody_is_told_what_is_older(address: str, target: str, trouble: float) -> None:
    world = World(lab_of(target), address, random.Random(f"{target} {trouble}"), trouble, keys=5)
    check(run(world, 1500))
    ended = sum(each.answered is not None for each in world.operations)
    assert ended > (800 if trouble == 0 else 80)
    # both ways are taken; how often each depends on how fast the store answers beside other work
    assert min(world.by_switch, world.directly) > 0.005 * ended
    assert world.control.counts()[0] >= world.by_switch


def run_many(address: str, text: str, seeds: int = 40) -> None:
    for seed in range(seeds):
        check(run(World(Lab("python", _Inlined(text)), address, random.Random(seed), 0.35, keys=3), 800))


@pytest.mark.full
@pytest.mark.parametrize(
    ("there", "instead"),
    [("hdr.kvcache.version >= version", "hdr.kvcache.version >= 0"), ("version >= floor", "version > 0")],
)
def test_the_check_finds_a_cache_that_does_not_compare_versions(address: str, there: str, instead: str) -> None:
    """Without either comparison such runs fail: the check can tell."""
    text = p4_text("kvcache/v1model.p4", {"SLOTS": 4})
    assert there in text
    with pytest.raises(AssertionError):
        run_many(address, text.replace(there, instead))


@pytest.mark.slow
def test_nobody_is_told_what_is_older_in_many_runs(address: str) -> None:
    run_many(address, p4_text("kvcache/v1model.p4", {"SLOTS": 4}), 300)


@pytest.mark.full
def test_the_check_finds_a_front_that_does_not_wait_for_the_switch(address: str, monkeypatch) -> None:
    def release(front: Front) -> None:
        front._guard.release(front._heard)

    monkeypatch.setattr(Front, "_release", release)
    with pytest.raises(AssertionError):
        run_many(address, p4_text("kvcache/v1model.p4", {"SLOTS": 4}))


class Wire:
    """Front and switch without a network between them: what the front sends is heard at once."""

    def __init__(self, lab: Lab, address: str, values: dict[int, bytes]) -> None:
        self.lab, self.address = lab, address
        with StoreClient(address, TOKEN) as client:
            client.delete([name(key) for key in range(100)])
            client.set({name(key): value for key, value in values.items()})
        self.control = CacheControl(lab.session, STORE_PORT)
        self.control.forward({STORE_MAC: STORE_PORT, mac(0): 2})
        self.front = Front(address, STORE_MAC, self.control, TOKEN)

    def settle(self, *frames: CacheFrame) -> list[CacheFrame]:
        """Frames that leave for clients when these have come to the front and all is quiet again."""
        for frame in frames:
            self.front.handle(frame)
        parsed, idle = [], 0
        while self.front.busy or idle < 20:
            idle = 0 if self.front.busy else idle + 1
            time.sleep(1e-4)
            for frame in self.front.poll():
                for port, content in self.lab.packets(STORE_PORT, frame.pack()):
                    if port == STORE_PORT:
                        self.front.handle(CacheFrame.parse(content))
                    else:
                        parsed.append(CacheFrame.parse(content))
        return parsed

    def put(self, key: int, value: bytes) -> None:
        """By a client of the store that knows nothing of the switch."""
        connection = StoreConnection(self.address, TOKEN)
        connection.submit(encode_versioned(name(key), value), 1)
        while not connection.poll():
            self.settle()
        connection.close()


@pytest.fixture
def wire(address: str):
    wires = []

    def make(lab: Lab, values: dict[int, bytes]) -> Wire:
        wires.append(Wire(lab, address, values))
        return wires[-1]

    yield make
    for each in wires:
        each.front.close()


def test_a_key_that_is_new_waits_for_its_floor(wire) -> None:
    """A reply from before the key was followed comes late: it must not be answered with."""
    lab = lab_of(TARGETS[0])
    world = wire(lab, {7: b"a" * 64})
    get = CacheFrame(STORE_MAC, mac(0), CacheFrameType.GET, 0, 1, 7)
    [old] = world.settle(get)
    world.put(7, b"b" * 64)  # of which a client has been told before the switch follows the key
    world.control.follow([7])
    world.control.serve({7: old.version + 1})
    assert lab.packets(STORE_PORT, old.pack())[0][0] == 2
    [(port, _)] = lab.packets(2, get.pack())
    assert port == STORE_PORT
    [new] = world.settle(get)
    [(port, answer)] = lab.packets(2, get.pack())
    assert (port, CacheFrame.parse(answer).version, CacheFrame.parse(answer).value) == (2, new.version, b"b" * 64)
    assert CacheFrame.parse(answer).by_switch
    [(port, _)] = lab.packets(2, old._replace(to=STORE_MAC, sender=mac(0), version=99).pack())
    assert port == STORE_PORT  # a client's forged reply is passed on and not kept
    [(_, answer)] = lab.packets(2, get.pack())
    assert CacheFrame.parse(answer).version == new.version


def test_changes_by_others_are_in_the_switch_before_anybody_hears_of_them(wire) -> None:
    lab = lab_of(TARGETS[0])
    world = wire(lab, {1: b"a" * 64, 2: b"a" * 64, 3: b"short"})
    world.front.hold([1, 2, 3, 4])
    world.settle()
    assert world.control.held == {1, 2}  # of the others one has no such value, one does not exist
    get = CacheFrame(STORE_MAC, mac(0), CacheFrameType.GET, 0, 1, 1)
    assert CacheFrame.parse(lab.packets(2, get.pack())[0][1]).value == b"a" * 64  # the switch has it without a miss
    connection = StoreConnection(world.address, TOKEN)
    connection.submit(encode_versioned(name(1), b"b" * 64), 1)
    time.sleep(0.05)
    [note] = world.front.poll()
    assert note.client == NOTE_CLIENT
    assert not connection.poll()
    forged = note._replace(request=note.request ^ 1)
    world.front.handle(forged)
    world.front.handle(note._replace(version=note.version + 1))
    assert not world.front.poll()
    assert not connection.poll()
    lab.packets(STORE_PORT, note.pack())
    world.front.handle(note)
    world.settle()
    assert connection.poll()
    assert CacheFrame.parse(lab.packets(2, get.pack())[0][1]).value == b"b" * 64
    connection.submit(b"*2\r\n$3\r\nDEL\r\n$8\r\n%b\r\n" % name(1), 1)
    while not connection.poll():
        world.settle()
    assert world.control.held == {2}
    assert world.settle(get)[0].version == 0
    connection.submit(b"*1\r\n$8\r\nFLUSHALL\r\n", 1)
    while not connection.poll():
        world.settle()
    assert not world.control.held
    connection.close()


def test_slots_and_keys_that_are_none(wire) -> None:
    world = wire(laboratory("v1model", "python"), {key: bytes(64) for key in range(9)})
    world.front.hold(range(9))
    world.settle()
    assert world.control.held == {0, 1, 2, 3}
    with pytest.raises(OfframpError, match="1 keys, and 0 of 4 slots are free"):
        world.control.follow([8])
    world.front.hold([2, 77])
    world.settle()
    assert world.control.held == {2}


def test_a_write_is_executed_once_however_late_it_comes(wire) -> None:
    world = wire(laboratory("v1model", "python"), {1: bytes(64)})
    writes = [
        CacheFrame(STORE_MAC, mac(0), CacheFrameType.PUT, 0, n, 1, 0, bytes([n % 256]) * 64) for n in range(1, 1500)
    ]
    first = world.settle(writes[0])[0].version
    for write in writes[1:]:
        world.front.handle(write)
        world.front.handle(write)
        if write.request % 100 == 0:
            world.settle()
    world.settle()
    assert not world.settle(writes[0])
    [last] = world.settle(writes[-1])
    assert (last.version, last.value) == (first + 1498, writes[-1].value)
    [none] = world.settle(CacheFrame(STORE_MAC, mac(0), CacheFrameType.GET, 0, 1, 50))
    assert none.version == 0


def test_writes_are_remembered_for_so_many_and_so_many_clients() -> None:
    def frame(client: int, request: int) -> CacheFrame:
        return CacheFrame(STORE_MAC, mac(0), CacheFrameType.PUT, client, request, 1, 0, bytes(64))

    executed = Executed()
    for request in (5, 3, 4, 2000):
        assert executed.begin(frame(0, request))
        assert not executed.begin(frame(0, request))
        assert executed.reply(frame(0, request)) is None
    executed.end(frame(0, 2000), reply := frame(0, 2000).answer(7, bytes(64)))
    assert executed.reply(frame(0, 2000)) == reply
    for request in (3, 4, 5, 2000 - REMEMBERED):  # older than any that may come again
        assert not executed.begin(frame(0, request))
    assert executed.begin(frame(0, 2001 - REMEMBERED))
    executed.end(frame(0, 2001 - REMEMBERED), None)  # refused
    assert executed.begin(frame(0, 2001 - REMEMBERED))
    for client in range(1, MOST_CLIENTS):
        assert executed.begin(frame(client, 1))
    assert not executed.begin(frame(0, 2000))  # which makes client 1 the one that has written least lately
    assert executed.begin(frame(MOST_CLIENTS, 1))
    assert executed.begin(frame(1, 1))
    assert not executed.begin(frame(0, 2000))


@pytest.mark.parametrize("content", [b"", bytes(97), bytes(98), bytes(12) + b"\x88\xb5\x07" + bytes(90)])
def test_frames_that_are_none(content: bytes) -> None:
    assert CacheFrame.parse(content) is None
