# SPDX-License-Identifier: Apache-2.0
"""``faulty:FAULTS:DEVICE``: a device that fails at given times or on command.

Faults are ``kill@S``, ``hang@S`` and ``reset@S``, joined by ``+``; S counts seconds from the first request. A device
that was killed completes everything unfinished with LOST; one that hangs completes nothing. Both work again after a
reset.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from offramp.device import Completion, Device, DeviceMemory, Message, Status
from offramp_base.errors import OfframpError


def open_device(options: str, name: str) -> FaultyDevice:
    """The device behind the second colon, with the faults before it."""
    from offramp.leo.devices import open_device as open_inner

    faults, colon, inner = options.partition(":")
    if not colon:
        raise OfframpError(f"device faulty:{options}: expected faulty:FAULTS:DEVICE, such as faulty:kill@0.5:model:20")
    times = []
    for fault in filter(None, faults.split("+")):
        what, _, when = fault.partition("@")
        try:
            times.append((float(when), what))
        except ValueError:
            raise OfframpError(f"device faulty:{options}: {fault}: expected FAULT@SECONDS") from None
        if what not in ("kill", "hang", "reset"):
            raise OfframpError(f"device faulty:{options}: no fault {what}: expected kill, hang or reset")
    return FaultyDevice(open_inner(inner, name), sorted(times))


class FaultyDevice:
    """See the module; a :class:`offramp.device.Device`.

    Attributes:
        failures: number of failures so far.
    """

    def __init__(self, inner: Device, faults: Sequence[tuple[float, str]] = ()) -> None:
        self._inner, self._faults = inner, list(faults)
        self._first: float | None = None
        self._unfinished: dict[int, None] = {}
        self._lost: list[Completion] = []
        self._dead = self._hung = False
        self.failures = 0

    @property
    def name(self) -> str:
        """The name of the device behind it."""
        return self._inner.name

    @property
    def kind(self) -> str:
        """The kind of the device behind it."""
        return self._inner.kind

    @property
    def functions(self) -> Sequence[str]:
        """The functions of the device behind it."""
        return self._inner.functions

    @property
    def depth(self) -> int:
        """The depth of the device behind it."""
        return self._inner.depth

    def memory(self, function: str) -> DeviceMemory:
        """The tables of the device behind it."""
        return self._inner.memory(function)

    def kill(self) -> None:
        """Kill the device: everything outstanding is LOST."""
        self._take()
        self._lost += [Completion(request, Status.LOST, b"", 0) for request in self._unfinished]
        self._unfinished.clear()
        self._inner.reset()
        self._inner.poll()
        self._dead = True
        self.failures += 1

    def hang(self) -> None:
        """Hang the device: nothing more completes."""
        self._hung = True
        self.failures += 1

    def submit(self, function: str, request: int, message: Message) -> bool:
        """Queue a request, if the device is alive."""
        self._due()
        if self._dead:
            raise OfframpError(f"device {self.name} is gone")
        if not self._inner.submit(function, request, message):
            return False
        self._unfinished[request] = None
        return True

    def poll(self) -> list[Completion]:
        """Completions since the last call, lost requests among them."""
        self._due()
        if not self._dead and not self._hung:
            self._take()
        completions, self._lost = self._lost, []
        return completions

    def reset(self) -> None:
        """Abort everything and make the device work again."""
        self._inner.reset()
        self._dead = self._hung = False
        self._take()

    def close(self) -> None:
        """Close the device behind it."""
        self._inner.close()

    def _take(self) -> None:
        for completion in self._inner.poll():
            if completion.request in self._unfinished:
                del self._unfinished[completion.request]
                self._lost.append(completion)

    def _due(self) -> None:
        if self._first is None:
            self._first = time.monotonic()
        while self._faults and time.monotonic() - self._first >= self._faults[0][0]:
            {"kill": self.kill, "hang": self.hang, "reset": self._abort}[self._faults.pop(0)[1]]()

    def _abort(self) -> None:
        self.failures += 1
        self.reset()
