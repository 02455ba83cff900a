# SPDX-License-Identifier: Apache-2.0
"""The store's front end for frames, and its view of what the switch before it holds.

The front answers what the switch does not. It guards the keys that the switch holds (:mod:`offramp.leo.store.guard`): a
change, whoever made it, goes to the switch in a *note*, a reply of the front to itself, and nobody learns of the change
before the note has come back. So the switch's answers are never older than what any client knows, including clients of
the redis protocol.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from offramp.leo.kvcache.control import CacheControl
from offramp.leo.kvcache.executed import Executed
from offramp.leo.kvcache.wire import MOST_VERSION, NOTE_CLIENT, VALUE_BYTES, CacheFrame, CacheFrameType
from offramp.leo.store.client import Answer, StoreConnection, StoreError, encode_info, encode_versioned, versioned
from offramp.leo.store.guard import Changed, Guarded, KeyGuard
from offramp_base.listening import Token

KEY_BYTES: Final = 8
_RETRY_S: Final = 0.02
_MOST_OPEN: Final = 1 << 16
"""Most frames that wait for the store; further ones are dropped, and their clients retransmit them."""
_MOST_BEGUN: Final = 1024
"""Most keys that the switch begins to hold at a time."""
_MOST_ASKED: Final = 1 << 20
"""Most keys that are counted between two choices."""


class _Note(NamedTuple):
    """A value on its way to the switch: the change that it carries, and when it was last sent."""

    number: int
    frame: CacheFrame
    sent: float


class Front:
    """The store's end for frames; belongs to one thread, which calls :meth:`handle` and :meth:`poll`.

    Args:
        address: address of the store's ``--listen``.
        mac: MAC address of the store's host.
        control: control plane of the switch, whose cache is empty.
        token: token of the store.

    Attributes:
        asked: requests for each key here since the last call of :meth:`chosen`.

    Raises:
        OfframpError: the store cannot be reached or, later, it or the switch is gone.
    """

    def __init__(self, address: str, mac: bytes, control: CacheControl, token: Token | None = None) -> None:
        self._mac, self._control = mac, control
        self._connection = StoreConnection(address, token)
        self._guard = KeyGuard(address, token)
        self.asked: Counter[int] = Counter()
        self._open: deque[CacheFrame] = deque()
        self._queued: list[bytes] = []
        self._executed = Executed()
        self._notes: dict[int, _Note] = {}
        self._wanted: list[int] = []  # keys that the switch is to hold, the next one last
        self._ready: list[CacheFrame] = []
        self._heard = 0  # the last change that was told
        self._released = 0
        self._base = self._ask_base()

    def close(self) -> None:
        """Disconnect from the store; the switch's cache is empty afterwards."""
        try:
            self._drop_all()
        finally:
            self._guard.close()
            self._connection.close()

    @property
    def busy(self) -> bool:
        """Whether something waits for an answer of the store or for the switch."""
        return bool(self._open or self._notes or self._wanted or self._control.followed or self._released < self._heard)

    @property
    def guards(self) -> bool:
        """Whether the switch holds any keys."""
        return bool(self._control.held)

    def handle(self, frame: CacheFrame) -> None:
        """Handle a frame that has arrived."""
        if frame.kind is CacheFrameType.REPLY:
            note = self._notes.get(frame.request)  # a number that nobody else knows
            if note is not None and note.frame == frame:
                del self._notes[frame.request]
            return
        if frame.client == NOTE_CLIENT or len(self._open) >= _MOST_OPEN:
            return
        if frame.kind is CacheFrameType.GET:
            if frame.key in self.asked or len(self.asked) < _MOST_ASKED:
                self.asked[frame.key] += 1
            self._send(frame, encode_versioned(_name(frame.key)))
        elif self._executed.begin(frame):
            self._send(frame, encode_versioned(_name(frame.key), frame.value))
        elif (reply := self._executed.reply(frame)) is not None:
            self._ready.append(reply._replace(to=frame.sender))

    def poll(self) -> list[CacheFrame]:
        """Frames to be sent now, without waiting.

        Raises:
            OfframpError: the store or the switch is gone.
        """
        if self._queued:
            queued, self._queued = self._queued, []
            self._connection.submit(b"".join(queued), len(queued))
        begun: list[Guarded] = []
        for event in self._guard.poll():
            if isinstance(event, Guarded):
                begun.append(event)
            else:
                self._begin(begun)
                begun.clear()
                self._change(event)
        self._begin(begun)
        self._follow_more()
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
        """Make the switch hold exactly these keys; those whose values it cannot hold are left out."""
        wanted = list(dict.fromkeys(keys))[: self._control.slots]
        known = self._control.held | self._control.followed
        self._forget(known - set(wanted))
        self._wanted = [key for key in wanted if key not in known][::-1]

    def _follow_more(self) -> None:
        """Begin with some of the keys that are wanted, once those before them are served."""
        if self._wanted and not self._control.followed and not self._notes:
            keys = [self._wanted.pop() for _ in range(min(_MOST_BEGUN, len(self._wanted)))]
            self._control.follow(keys)
            self._guard.add(map(_name, keys))

    def chosen(self, most: int) -> list[int]:
        """Up to ``most`` keys that were requested most since the last call, including those answered by the switch."""
        asked, self.asked = self.asked, Counter()
        return self._control.choose(asked, most)

    # --- the store

    def _ask_base(self) -> int:
        """The store's present version; frames count from there, as they have 32 bits."""
        self._connection.submit(encode_info(), 1)
        answers: list[Answer] = []
        while not answers:
            self._connection.wait(1000)
            answers = self._connection.poll()
        lines = dict(line.split(b":", 1) for line in answers[0][2].split(b"\r\n") if b":" in line)
        return int(lines[b"value_version"])

    def _number(self, version: int) -> int:
        return max(1, version - self._base + 1)

    def _send(self, frame: CacheFrame, command: bytes) -> None:
        self._open.append(frame)
        self._queued.append(command)

    def _answer(self, frame: CacheFrame, answer: Answer) -> None:
        try:
            version, value = versioned(answer)
        except StoreError:
            self._executed.end(frame, None)  # the client asks again
            return
        if frame.kind is CacheFrameType.PUT:
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

    def _begin(self, events: Iterable[Guarded]) -> None:
        known = {int.from_bytes(event.key, "little"): event for event in events}
        begun = {key: event for key, event in known.items() if key in self._control.followed}
        good = {key: event for key, event in begun.items() if self._holds(event.version, event.value)}
        self._forget(begun.keys() - good.keys())
        self._control.serve({key: self._number(event.version) for key, event in good.items()})
        for key, event in good.items():
            assert event.value is not None
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
            self._forget([key])

    def _holds(self, version: int, value: bytes | None) -> bool:
        return value is not None and len(value) == VALUE_BYTES and self._number(version) < MOST_VERSION

    def _note(self, key: int, version: int, value: bytes, number: int) -> None:
        request = secrets.randbits(32)
        number32 = self._number(version)
        frame = CacheFrame(self._mac, self._mac, CacheFrameType.REPLY, NOTE_CLIENT, request, key, number32, value)
        self._notes[request] = _Note(number, frame, time.monotonic())
        self._ready.append(frame)

    def _forget(self, keys: Collection[int]) -> None:
        if not keys:
            return
        self._control.drop(keys)
        self._guard.remove(map(_name, keys))
        gone = set(keys)
        self._notes = {request: note for request, note in self._notes.items() if note.frame.key not in gone}

    def _drop_all(self) -> None:
        self._wanted.clear()
        self._forget(self._control.held | self._control.followed)

    def _release(self) -> None:
        """Release every change whose note has reached the switch."""
        oldest = min((note.number for note in self._notes.values()), default=self._heard + 1)
        if (done := min(oldest - 1, self._heard)) > self._released:
            self._released = done
            self._guard.release(done)


def _name(key: int) -> bytes:
    """The store's name for a frame's key."""
    return key.to_bytes(KEY_BYTES, "little")
