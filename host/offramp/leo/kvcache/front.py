# SPDX-License-Identifier: Apache-2.0
"""The store as frames know it, and what the switch in front of it holds of it.

The front answers what the switch does not. It guards the keys that the switch holds (:mod:`offramp.leo.store.guard`): a
change, whoever made it, goes to the switch in a *note*, a reply of the front to itself, and nobody hears of the change
before the note has come back. So what the switch answers is never older than what anybody knows, clients of redis'
protocol among them.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from offramp.leo.kvcache.control import CacheControl
from offramp.leo.kvcache.executed import Executed
from offramp.leo.kvcache.wire import MOST_VERSION, NOTE_CLIENT, VALUE_BYTES, Frame, Kind
from offramp.leo.store.client import Answer, Connection, StoreError, encode_info, encode_versioned, versioned
from offramp.leo.store.guard import Changed, Guard, Guarded
from offramp_base.listening import Token

KEY_BYTES: Final = 8
_RETRY_S: Final = 0.02
_MOST_OPEN: Final = 1 << 16
"""Frames that wait for the store; those that come meanwhile are sent again by their clients."""
_MOST_ASKED: Final = 1 << 20
"""Keys that are counted between two choices."""


class _Note(NamedTuple):
    """A value on its way to the switch: of which change, and when it was sent last."""

    number: int
    frame: Frame
    sent: float


class Front:
    """The frames' end of a store; belongs to one thread, which calls :meth:`handle` and :meth:`poll`.

    Args:
        address: of the store's ``--listen``.
        mac: the store's host.
        control: of the switch, which holds nothing yet.
        token: of the store.

    Attributes:
        asked: how often each key was asked for here since :meth:`chosen` was called last.

    Raises:
        OfframpError: the store is not there, or, later, it or the switch is gone.
    """

    def __init__(self, address: str, mac: bytes, control: CacheControl, token: Token | None = None) -> None:
        self._mac, self._control = mac, control
        self._connection = Connection(address, token)
        self._guard = Guard(address, token)
        self.asked: Counter[int] = Counter()
        self._open: deque[Frame] = deque()
        self._queued: list[bytes] = []
        self._executed = Executed()
        self._notes: dict[int, _Note] = {}
        self._ready: list[Frame] = []
        self._heard = 0  # the last change that was told
        self._released = 0
        self._base = self._ask_base()

    def close(self) -> None:
        """Leave the store; the switch holds nothing afterwards."""
        try:
            self._drop_all()
        finally:
            self._guard.close()
            self._connection.close()

    @property
    def busy(self) -> bool:
        """Whether something waits for an answer of the store or for the switch."""
        return bool(self._open or self._notes or self._control.followed or self._released < self._heard)

    @property
    def guards(self) -> bool:
        """Whether the switch holds anything."""
        return bool(self._control.held)

    def handle(self, frame: Frame) -> None:
        """Take a frame that has come."""
        if frame.kind is Kind.REPLY:
            note = self._notes.get(frame.request)  # a number that nobody else knows
            if note is not None and note.frame == frame:
                del self._notes[frame.request]
            return
        if frame.client == NOTE_CLIENT or len(self._open) >= _MOST_OPEN:
            return
        if frame.kind is Kind.GET:
            if frame.key in self.asked or len(self.asked) < _MOST_ASKED:
                self.asked[frame.key] += 1
            self._send(frame, encode_versioned(_name(frame.key)))
        elif self._executed.begin(frame):
            self._send(frame, encode_versioned(_name(frame.key), frame.value))
        elif (reply := self._executed.reply(frame)) is not None:
            self._ready.append(reply._replace(to=frame.sender))

    def poll(self) -> list[Frame]:
        """Frames to be sent now; does not wait.

        Raises:
            OfframpError: the store or the switch is gone.
        """
        if self._queued:
            queued, self._queued = self._queued, []
            self._connection.submit(b"".join(queued), len(queued))
        for event in self._guard.poll():
            if isinstance(event, Guarded):
                self._begin(event)
            else:
                self._change(event)
        for answer in self._connection.poll() if self._open else ():
            self._answer(self._open.popleft(), answer)
        self._release()
        now = time.monotonic()
        for request, note in self._notes.items():
            if now - note.sent > _RETRY_S:
                self._notes[request] = note._replace(sent=now)
                self._ready.append(note.frame)
        ready, self._ready = self._ready, []
        return ready

    def hold(self, keys: Iterable[int]) -> None:
        """Let the switch hold these keys and no others; those whose values it cannot hold are left out."""
        wanted = list(dict.fromkeys(keys))[: self._control.slots]
        known = self._control.held | self._control.followed
        for key in known.difference(wanted):
            self._forget(key)
        for key in wanted:
            if key not in known:
                self._control.follow(key)
                self._guard.add([_name(key)])

    def chosen(self, most: int) -> list[int]:
        """The keys most requested since the last call, at most ``most``; also those that the switch holds."""
        asked, self.asked = self.asked, Counter()
        return self._control.choose(asked, most)

    # --- the store

    def _ask_base(self) -> int:
        """The version that the store has now; frames count from there, as they have 32 bits."""
        self._connection.submit(encode_info(), 1)
        answers: list[Answer] = []
        while not answers:
            self._connection.wait(1000)
            answers = self._connection.poll()
        lines = dict(line.split(b":", 1) for line in answers[0][2].split(b"\r\n") if b":" in line)
        return int(lines[b"value_version"])

    def _number(self, version: int) -> int:
        return max(1, version - self._base + 1)

    def _send(self, frame: Frame, command: bytes) -> None:
        self._open.append(frame)
        self._queued.append(command)

    def _answer(self, frame: Frame, answer: Answer) -> None:
        try:
            version, value = versioned(answer)
        except StoreError:
            self._executed.end(frame, None)  # the client asks again
            return
        if frame.kind is Kind.PUT:
            reply = frame.answer(self._shown(version), frame.value)
            self._executed.end(frame, reply)
        elif value is None or len(value) != VALUE_BYTES:
            reply = frame.answer(0, bytes(VALUE_BYTES))
        else:
            reply = frame.answer(self._shown(version), value)
        self._ready.append(reply)

    def _shown(self, version: int) -> int:
        return min(self._number(version), MOST_VERSION - 1)

    # --- the switch

    def _begin(self, event: Guarded) -> None:
        key = int.from_bytes(event.key, "little")
        if key not in self._control.followed:
            return
        if not self._holds(event.version, event.value):
            self._forget(key)
            return
        assert event.value is not None
        self._control.serve(key, self._number(event.version))
        self._note(key, event.version, event.value, self._heard)

    def _change(self, event: Changed) -> None:
        self._heard = event.number
        if event.key is None:
            self._drop_all()
            return
        key = int.from_bytes(event.key, "little")
        if key not in self._control.held and key not in self._control.followed:
            return
        if self._holds(event.version, event.value):
            assert event.value is not None
            self._note(key, event.version, event.value, event.number)
        else:
            self._forget(key)

    def _holds(self, version: int, value: bytes | None) -> bool:
        return value is not None and len(value) == VALUE_BYTES and self._number(version) < MOST_VERSION

    def _note(self, key: int, version: int, value: bytes, number: int) -> None:
        request = secrets.randbits(32)
        number32 = self._number(version)
        frame = Frame(self._mac, self._mac, Kind.REPLY, NOTE_CLIENT, request, key, number32, value)
        self._notes[request] = _Note(number, frame, time.monotonic())
        self._ready.append(frame)

    def _forget(self, key: int) -> None:
        self._control.drop(key)
        self._guard.remove([_name(key)])
        for request in [r for r, note in self._notes.items() if note.frame.key == key]:
            del self._notes[request]

    def _drop_all(self) -> None:
        for key in self._control.held | self._control.followed:
            self._forget(key)

    def _release(self) -> None:
        """Release what all notes have brought to the switch."""
        oldest = min((note.number for note in self._notes.values()), default=self._heard + 1)
        if (done := min(oldest - 1, self._heard)) > self._released:
            self._released = done
            self._guard.release(done)


def _name(key: int) -> bytes:
    """A frame's key as the store has it."""
    return key.to_bytes(KEY_BYTES, "little")
