# SPDX-License-Identifier: Apache-2.0
"""The choice of the primary among the controllers of one device and role (P4Runtime specification, section 5)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from offramp_base.p4rt.schema import rpc, v1
from offramp_base.p4rt.status import Code, RpcError
from offramp_p4.runtime import roles
from offramp_p4.runtime.entities.base import copied
from offramp_p4.runtime.roles import FULL, Role

MAX_ROLES = 256
"""Roles that are remembered; one that nobody holds makes room for another."""
MAX_ROLE_NAME = 256
MAX_ROLE_CONFIG = 1 << 16
"""Largest role configuration, in bytes."""


@dataclass(eq=False)
class Controller:
    """One open stream; ``send`` takes StreamMessageResponse messages and never blocks, ``end`` ends the stream."""

    send: Callable[[Any], None]
    end: Callable[[RpcError], None] = lambda _: None
    device_id: int | None = None
    role: str = ""
    election_id: int | None = None


@dataclass
class _Seat:
    """One role: who holds streams for it, the highest election id ever seen, and its rights."""

    controllers: list[Controller] = field(default_factory=list)
    highest: int | None = None
    rights: Role = FULL

    @property
    def primary(self) -> Controller | None:
        if self.highest is None:
            return None
        return next((c for c in self.controllers if c.election_id == self.highest), None)


def _standing(role: str, number: int | None, *, becomes: bool) -> tuple[int, int]:
    """Rank among controllers when there is not room for all: primary of all, primary of a role, then election id."""
    rank = 0 if number is None else 1 if not becomes else 2 if role else 3
    return rank, number or 0


def election_number(message: Any) -> int | None:
    """The 128-bit election id of a message, None if unset."""
    if not message.HasField("election_id"):
        return None
    return int(message.election_id.high << 64 | message.election_id.low)


class Arbitration:
    """The controllers of one device, for each role; thread-safe.

    Attributes:
        max_controllers: beyond this many, those that stand lowest make room; None: there is room for all.
    """

    def __init__(self, device_id: int) -> None:
        self.max_controllers: int | None = None
        self._device_id = device_id
        self._lock = threading.Lock()
        self._seats: dict[str, _Seat] = {}

    def update(self, controller: Controller, update: Any) -> None:
        """Handle a MasterArbitrationUpdate.

        Raises:
            RpcError: the stream must end with this status.
        """
        name, number = update.role.name, election_number(update)
        if len(name) > MAX_ROLE_NAME or update.role.config.ByteSize() > MAX_ROLE_CONFIG:
            sizes = f"{MAX_ROLE_NAME} characters, configurations of {MAX_ROLE_CONFIG} bytes"
            raise RpcError(Code.INVALID_ARGUMENT, f"names of roles have at most {sizes}")
        rights = roles.parse(copied(update.role.config)) if update.role.HasField("config") else FULL
        with self._lock:
            first = controller.device_id is None
            if not first and controller.role != name:
                raise RpcError(
                    Code.FAILED_PRECONDITION,
                    f"the stream has role {controller.role!r}; open another one for {name!r}",
                )
            seat = self._seats.get(name) or _Seat()
            if number is not None and any(c.election_id == number for c in seat.controllers if c is not controller):
                raise RpcError(Code.INVALID_ARGUMENT, f"election id {number} is in use by another controller")
            becomes = number is not None and (seat.highest is None or number >= seat.highest)
            if becomes:
                self._check_exclusive(name, rights)
            if name not in self._seats:
                self._forget_a_role()
            if first:
                self._make_room(_standing(name, number, becomes=becomes))
            self._seats[name] = seat
            was = seat.primary
            if first:
                seat.controllers.append(controller)
            controller.device_id, controller.role, controller.election_id = self._device_id, name, number
            if becomes:
                seat.highest, seat.rights = number, rights
            # A change and the primary's own updates go to everyone, anything else only to the controller that asked.
            primary = seat.primary
            everyone = primary is not was or primary is controller
            listeners = seat.controllers if everyone else [controller]
            for listener in sorted(listeners, key=lambda c: c is primary):  # the primary last
                listener.send(self._notice(listener, seat))

    def leave(self, controller: Controller) -> None:
        """A stream has ended."""
        with self._lock:
            self._remove(controller)

    def _remove(self, controller: Controller) -> None:
        seat = self._seats.get(controller.role)
        if controller.device_id is None or seat is None or controller not in seat.controllers:
            return
        was = seat.primary
        seat.controllers.remove(controller)
        if controller is was:
            for listener in seat.controllers:
                listener.send(self._notice(listener, seat))

    def _make_room(self, standing: tuple[int, int]) -> None:
        """Let a controller of this standing in, if need be by ending the stream of the one with the lowest.

        Raises:
            RpcError: RESOURCE_EXHAUSTED, nobody stands lower.
        """
        everyone = [
            (_standing(name, c.election_id, becomes=c is seat.primary), c)
            for name, seat in self._seats.items()
            for c in seat.controllers
        ]
        if self.max_controllers is None or len(everyone) < self.max_controllers:
            return
        lowest, loser = min(everyone, key=lambda each: each[0])  # the oldest of several
        if lowest >= standing:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"more than {self.max_controllers} open streams")
        self._remove(loser)
        loser.device_id = None
        loser.end(RpcError(Code.RESOURCE_EXHAUSTED, "the stream makes room for a controller with a higher election id"))

    def _forget_a_role(self) -> None:
        if len(self._seats) < MAX_ROLES:
            return
        free = next((name for name, seat in self._seats.items() if not seat.controllers), None)
        if free is None:
            raise RpcError(Code.RESOURCE_EXHAUSTED, f"more than {MAX_ROLES} roles")
        del self._seats[free]

    def check_primary(self, role: str, number: int | None) -> Role:
        """The rights of a request's role, if the request comes from the primary.

        Raises:
            RpcError: NOT_FOUND, no such role; PERMISSION_DENIED, not primary.
        """
        with self._lock:
            if role and role not in self._seats:
                raise RpcError(Code.NOT_FOUND, f"role {role!r} is not known")
            seat = self._seats.get(role) or _Seat()
            primary = seat.primary
            if primary is None or number is None or primary.election_id != number:
                holder = "there is none" if primary is None else f"that has election id {primary.election_id}"
                raise RpcError(Code.PERMISSION_DENIED, f"only the primary controller may do this; {holder}")
            return seat.rights

    def rights(self, role: str) -> Role:
        """The rights of a role.

        Raises:
            RpcError: NOT_FOUND, no such role.
        """
        with self._lock:
            if role and role not in self._seats:
                raise RpcError(Code.NOT_FOUND, f"role {role!r} is not known")
            return self._seats[role].rights if role in self._seats else FULL

    def is_primary(self, controller: Controller) -> bool:
        """Whether this stream belongs to the primary of its role."""
        with self._lock:
            seat = self._seats.get(controller.role)
            return controller.device_id is not None and seat is not None and seat.primary is controller

    def primaries(self) -> list[tuple[Controller, Role]]:
        """The primary of each role, and its rights."""
        with self._lock:
            seats = [(seat.primary, seat.rights) for seat in self._seats.values()]
        return [(primary, rights) for primary, rights in seats if primary is not None]

    def _check_exclusive(self, name: str, rights: Role) -> None:
        if rights.ids is None:
            return
        for other, seat in self._seats.items():
            if other == name or seat.rights.ids is None:
                continue
            clash = (rights.exclusive & seat.rights.ids) | (rights.ids & seat.rights.exclusive)
            if clash:
                message = f"roles {name!r} and {other!r} both write object {min(clash):#010x}, one of them exclusively"
                raise RpcError(Code.INVALID_ARGUMENT, message)

    def _notice(self, listener: Controller, seat: _Seat) -> Any:
        update = v1.MasterArbitrationUpdate(device_id=self._device_id)
        if listener.role:
            update.role.name = listener.role
        if seat.rights.message is not None:
            update.role.config.CopyFrom(seat.rights.message)
        if seat.highest is not None:
            update.election_id.high, update.election_id.low = seat.highest >> 64, seat.highest & (2**64 - 1)
        primary = seat.primary
        if primary is None:
            status = rpc.Status(code=Code.NOT_FOUND, message="there is no primary controller")
        elif listener is primary:
            status = rpc.Status(code=Code.OK)
        else:
            status = rpc.Status(code=Code.ALREADY_EXISTS, message="another controller is primary")
        update.status.CopyFrom(status)
        return v1.StreamMessageResponse(arbitration=update)
