# SPDX-License-Identifier: Apache-2.0
"""The switch's cache never answers with what is older than what anybody was told, whatever the network does.

Clients, store and control plane work in one thread over a network that loses, doubles and delays frames on every link.
What each client was told is checked like a register's history: versions never fall between an operation that ended and
one that began later, every version has one value, and a write is executed once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from offramp.leo.kvcache.control import CacheControl
from offramp.leo.kvcache.store import Store
from offramp.leo.kvcache.wire import Frame, Kind
from offramp.p4src import p4_text
from offramp_base.errors import OfframpError
from p4rt_lab import Lab

KEYS = 12
STORE_PORT = 1
STORE_MAC = bytes.fromhex("0a0000000001")


def mac(client: int) -> bytes:
    return STORE_MAC[:4] + (client + 16).to_bytes(2, "big")


def value_of(key: int, client: int, request: int) -> bytes:
    return (key.to_bytes(8, "big") + client.to_bytes(4, "big") + request.to_bytes(4, "big")) * 4


@dataclass
class Operation:
    """What a client wants, and when it began and ended."""

    frame: Frame
    begun: int
    due: int
    ended: int = -1
    told: Frame | None = None


@dataclass
class World:
    """A switch, a store, clients, and frames that are on their way."""

    lab: Lab
    rng: random.Random
    trouble: float
    clients: int = 3
    keys: int = KEYS
    now: int = 0
    flying: list[tuple[int, int, str, bytes]] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    open: dict[int, Operation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = Store({key: value_of(key, 0, 0) for key in range(self.keys)})
        self.control = CacheControl(self.lab.session, STORE_PORT, lambda key: self.store.get(key)[0])
        self.control.forward({STORE_MAC: STORE_PORT} | {mac(c): 2 + c for c in range(self.clients)})
        self.requests = [0] * self.clients
        self.by_switch = 0

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
                reply = self.store.handle(Frame.parse(content))
                if reply is not None:
                    self.send("switch", STORE_PORT, reply.pack())
            else:
                self.hear(port - 2, Frame.parse(content))
        for client in range(self.clients):
            self.go_on(client)
        if self.rng.random() < 0.1:
            self.control_plane()

    def hear(self, client: int, frame: Frame) -> None:
        operation = self.open.get(client)
        assert frame.client == client
        if operation is not None and frame.request == operation.frame.request and frame.kind is Kind.REPLY:
            operation.ended, operation.told = self.now, frame
            self.by_switch += frame.by_switch
            del self.open[client]

    def go_on(self, client: int) -> None:
        operation = self.open.get(client)
        if operation is None:
            self.requests[client] += 1
            key, request = self.rng.randrange(self.keys), self.requests[client]
            kind = Kind.PUT if self.rng.random() < 0.3 else Kind.GET
            value = value_of(key, client + 1, request) if kind is Kind.PUT else bytes(64)
            frame = Frame(STORE_MAC, mac(client), kind, client, request, key, 0, value)
            operation = self.open[client] = Operation(frame, self.now, self.now)
            self.operations.append(operation)
        if operation.due <= self.now:
            operation.due = self.now + 20
            self.send("switch", 2 + client, operation.frame.pack())

    def control_plane(self) -> None:
        """Follow, serve and drop at random: a key may be followed for long before it is served."""
        choice, control = self.rng.random(), self.control
        if choice < 0.4 and control._free:
            control.follow(self.rng.randrange(self.keys))
        elif choice < 0.8 and control._followed:
            control.serve(self.rng.choice(sorted(control._followed)))
        elif control._held:
            control.drop(self.rng.choice(sorted(control._held)))


def check(operations: list[Operation]) -> None:
    """As of one register for each key."""
    ended = [each for each in operations if each.told is not None]
    values: dict[tuple[int, int], bytes] = {}
    writes: dict[tuple[int, int], Operation] = {}
    for each in ended:
        at = each.frame.key, each.told.version
        assert each.told.key == each.frame.key
        assert values.setdefault(at, each.told.value) == each.told.value, "a version has one value"
        if each.frame.kind is Kind.PUT:
            assert each.told.value == each.frame.value, "a write is told of its own value"
            assert writes.setdefault(at, each) is each, "two writes have one version"
    for one in ended:
        for other in ended:
            if one.frame.key == other.frame.key and one.ended < other.begun:
                assert other.told.version >= one.told.version, (one, other)
                if other.frame.kind is Kind.PUT:
                    assert other.told.version > one.told.version, (one, other)


def lab_of(target: str) -> Lab:
    return made(*target.split("-"))


def made(name: str, engine: str) -> Lab:
    return Lab(engine, _Inlined(p4_text(f"kvcache/{name}.p4", {"SLOTS": 4})))


class _Inlined:
    """A program whose includes stand in it, as a controller pushes it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read_bytes(self) -> bytes:
        return self._text.encode()


TARGETS = ["v1model-python", "v1model-native", "tna-python", "tna-native"]


@pytest.mark.parametrize("trouble", [0.0, 0.2])
@pytest.mark.parametrize("target", TARGETS)
def test_nobody_is_told_what_is_older(target: str, trouble: float) -> None:
    world = World(lab_of(target), random.Random(f"{target} {trouble}"), trouble, keys=5)
    for _ in range(1500):
        world.step()
    check(world.operations)
    ended = sum(each.told is not None for each in world.operations)
    assert ended > (800 if trouble == 0 else 80)
    assert world.by_switch > 0.05 * ended
    assert world.control.counts()[0] >= world.by_switch


def run_many(text: str) -> None:
    for seed in range(40):
        world = World(Lab("python", _Inlined(text)), random.Random(seed), 0.35, keys=3)
        for _ in range(800):
            world.step()
        check(world.operations)


@pytest.mark.parametrize(
    ("there", "instead"),
    [("hdr.kvcache.version >= version", "hdr.kvcache.version >= 0"), ("version >= floor", "version > 0")],
)
def test_the_check_finds_a_cache_that_does_not_compare_versions(there: str, instead: str) -> None:
    """Without either comparison such runs fail: the check can tell."""
    text = p4_text("kvcache/v1model.p4", {"SLOTS": 4})
    assert there in text
    with pytest.raises(AssertionError):
        run_many(text.replace(there, instead))


@pytest.mark.parametrize("target", TARGETS[:1])
def test_a_key_that_is_new_waits_for_its_floor(target: str) -> None:
    """A reply from before the key was followed comes late: it must not be answered with."""
    lab = lab_of(target)
    store = Store({7: b"a" * 64})
    control = CacheControl(lab.session, STORE_PORT, lambda key: store.get(key)[0])
    control.forward({STORE_MAC: STORE_PORT, mac(0): 2})
    get = Frame(STORE_MAC, mac(0), Kind.GET, 0, 1, 7)
    old = store.handle(get).pack()
    store.put(7, b"b" * 64)  # of which a client has been told before the switch follows the key
    control.follow(7)
    control.serve(7)
    assert lab.packets(STORE_PORT, old)[0][0] == 2
    [(port, _)] = lab.packets(2, get.pack())
    assert port == STORE_PORT
    lab.packets(STORE_PORT, store.handle(get).pack())
    [(port, answer)] = lab.packets(2, get.pack())
    assert (port, Frame.parse(answer).version, Frame.parse(answer).value) == (2, 2, b"b" * 64)
    assert Frame.parse(answer).by_switch
    [(port, _)] = lab.packets(2, Frame.parse(old)._replace(to=STORE_MAC, sender=mac(0), version=9).pack())
    assert port == STORE_PORT  # a client's forged reply is passed on and not kept
    [(_, answer)] = lab.packets(2, get.pack())
    assert Frame.parse(answer).version == 2


def test_slots_and_keys_that_are_none() -> None:
    lab = made("v1model", "python")
    store = Store({key: bytes(64) for key in range(9)})
    control = CacheControl(lab.session, STORE_PORT, lambda key: store.get(key)[0])
    control.hold(range(9))
    assert control.held == {0, 1, 2, 3}
    with pytest.raises(OfframpError, match="all 4 slots are taken"):
        control.follow(8)
    control.hold([2, 77])
    assert control.held == {2}


def test_a_write_is_executed_once_however_late_it_comes() -> None:
    store = Store({1: bytes(64)})
    writes = [Frame(STORE_MAC, mac(0), Kind.PUT, 0, n, 1, 0, bytes([n % 256]) * 64) for n in range(1, 3000)]
    for write in writes:
        assert store.handle(write).version == store.handle(write).version == 1 + write.request
    assert store.handle(writes[0]) is None
    assert store.get(1)[0] == 3000
    assert store.handle(Frame(STORE_MAC, mac(0), Kind.GET, 0, 1, 2)).version == 0


@pytest.mark.parametrize("content", [b"", bytes(97), bytes(98), bytes(12) + b"\x88\xb5\x07" + bytes(90)])
def test_frames_that_are_none(content: bytes) -> None:
    assert Frame.parse(content) is None
