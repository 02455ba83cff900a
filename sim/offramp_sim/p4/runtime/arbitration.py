"""Who is primary: election among the controllers of one device and role (P4Runtime specification, section 5)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from offramp.switch.p4rt.schema import rpc, v1
from offramp.switch.p4rt.status import Code, RpcError


@dataclass(eq=False)
class Controller:
    """One open stream; ``send`` takes StreamMessageResponse messages and never blocks."""

    send: Callable[[Any], None]
    device_id: int | None = None
    role: str = ""
    election_id: int | None = None


def election_number(message: Any) -> int | None:
    """The 128-bit election id of a message, None if unset."""
    if not message.HasField("election_id"):
        return None
    return int(message.election_id.high << 64 | message.election_id.low)


class Arbitration:
    """The controllers of one device, for each role; thread-safe."""

    def __init__(self, device_id: int) -> None:
        self._device_id = device_id
        self._lock = threading.Lock()
        self._controllers: dict[str, list[Controller]] = {}
        self._highest: dict[str, int | None] = {}

    def update(self, controller: Controller, update: Any) -> None:
        """Handle a MasterArbitrationUpdate.

        Raises:
            RpcError: the stream must end with this status.
        """
        role, number = update.role.name, election_number(update)
        if update.role.HasField("config"):
            raise RpcError(Code.INVALID_ARGUMENT, f"role {role!r}: this switch has no role configurations")
        with self._lock:
            first = controller.device_id is None
            if not first and controller.role != role:
                raise RpcError(
                    Code.FAILED_PRECONDITION,
                    f"the stream has role {controller.role!r}; open another one for {role!r}",
                )
            others = [c for c in self._controllers.get(role, []) if c is not controller]
            if number is not None and any(c.election_id == number for c in others):
                raise RpcError(Code.INVALID_ARGUMENT, f"election id {number} is in use by another controller")
            was = self._primary(role)
            if first:
                self._controllers.setdefault(role, []).append(controller)
            controller.device_id, controller.role = self._device_id, role
            controller.election_id = number
            highest = self._highest.get(role)
            if number is not None and (highest is None or number >= highest):
                self._highest[role] = number
            primary = self._primary(role)
            # Everyone hears of a change and of the primary's own updates, else only the one who asked.
            everyone = primary is not was or primary is controller
            for listener in self._controllers[role] if everyone else [controller]:
                listener.send(self._notice(listener, primary))

    def leave(self, controller: Controller) -> None:
        """A stream has ended."""
        with self._lock:
            role = controller.role
            if controller.device_id is None or controller not in self._controllers.get(role, []):
                return
            was = self._primary(role)
            self._controllers[role].remove(controller)
            if controller is was:
                for listener in self._controllers[role]:
                    listener.send(self._notice(listener, None))

    def check_primary(self, role: str, number: int | None) -> None:
        """Whether a request comes from the primary.

        Raises:
            RpcError: NOT_FOUND, no such role; PERMISSION_DENIED, not primary.
        """
        with self._lock:
            if role and role not in self._controllers:
                raise RpcError(Code.NOT_FOUND, f"role {role!r} is not known")
            primary = self._primary(role)
            if primary is None or number is None or primary.election_id != number:
                held = "there is none" if primary is None else f"that has election id {primary.election_id}"
                raise RpcError(Code.PERMISSION_DENIED, f"only the primary controller may do this; {held}")

    def is_primary(self, controller: Controller) -> bool:
        """Whether this stream belongs to the primary of its role."""
        with self._lock:
            return controller.device_id is not None and self._primary(controller.role) is controller

    def primaries(self) -> list[Controller]:
        """The primary of each role."""
        with self._lock:
            found = [self._primary(role) for role in self._controllers]
        return [c for c in found if c is not None]

    def _primary(self, role: str) -> Controller | None:
        highest = self._highest.get(role)
        if highest is None:
            return None
        return next((c for c in self._controllers[role] if c.election_id == highest), None)

    def _notice(self, listener: Controller, primary: Controller | None) -> Any:
        update = v1.MasterArbitrationUpdate(device_id=self._device_id)
        if listener.role:
            update.role.name = listener.role
        highest = self._highest.get(listener.role)
        if highest is not None:
            update.election_id.high, update.election_id.low = highest >> 64, highest & (2**64 - 1)
        if primary is None:
            status = rpc.Status(code=Code.NOT_FOUND, message="there is no primary controller")
        elif listener is primary:
            status = rpc.Status(code=Code.OK)
        else:
            status = rpc.Status(code=Code.ALREADY_EXISTS, message="another controller is primary")
        update.status.CopyFrom(status)
        return v1.StreamMessageResponse(arbitration=update)
