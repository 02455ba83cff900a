# SPDX-License-Identifier: Apache-2.0
"""``plugin:PATH`` or ``plugin:PATH,OPTIONS``: functions of a shared library with the interface of ``offramp.h``.

The library runs in this process with its rights; naming its path is consent.
"""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any, Final

from offramp.device import Completion, Status
from offramp.leo.devices.functions import FunctionDevice
from offramp_base.errors import OfframpError

ABI: Final = 1
SYMBOL: Final = "offramp_plugin_1"
_KINDS: Final = ("cpu", "fpga", "nic", "gpu")
_MOST_FUNCTIONS, _MOST_ANSWER = 256, 1 << 24
_CALL = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t
)


class _PluginFunction(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("call", _CALL))


class _Plugin(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("abi", ctypes.c_uint32),
        ("kind", ctypes.c_char_p),
        ("functions", ctypes.POINTER(_PluginFunction)),
        ("answer_bytes", ctypes.c_uint64),
        ("open", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)),
        ("close", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


def open_device(options: str, name: str) -> PluginDevice:
    """The device of a shared library; the text after the first comma goes to the library."""
    path, _, rest = options.partition(",")
    return PluginDevice(path, rest, name)


class PluginDevice(FunctionDevice):
    """See the module; a :class:`offramp.device.Device`.

    Raises:
        OfframpError: no such library, one without the symbol, of another version, or whose plug-in cannot be opened.
    """

    def __init__(self, path: str, options: str = "", name: str = "plugin") -> None:
        self._library, self._plugin = _load(path)
        plugin = self._plugin
        self.kind = (plugin.kind or b"").decode(errors="replace")
        calls = {}
        for at in range(_MOST_FUNCTIONS):
            if not plugin.functions[at].name:
                break
            calls[plugin.functions[at].name.decode(errors="replace")] = plugin.functions[at].call
        if self.kind not in _KINDS or not calls or plugin.answer_bytes > _MOST_ANSWER:
            raise OfframpError(
                f"plugin {path}: expected a kind of {', '.join(_KINDS)}, functions, and answers of at most 16 MiB"
            )
        super().__init__({}, name)
        self._calls: dict[str, Any] = calls
        self._answer = ctypes.create_string_buffer(max(plugin.answer_bytes, 1))
        self._state = None
        if plugin.open:
            self._state = plugin.open(options.encode())
            if not self._state:
                raise OfframpError(f"plugin {path}: it cannot be opened with the options {options!r}")

    @property
    def functions(self) -> tuple[str, ...]:
        """Names of the functions."""
        return tuple(self._calls)

    def close(self) -> None:
        """Release the plug-in's resources."""
        super().close()
        if self._state and self._plugin.close:
            self._plugin.close(self._state)
        self._state = None

    def _run(self, request: int, function: str, message: bytes) -> Completion:
        call = self._calls.get(function)
        if call is None:
            return Completion(request, Status.UNKNOWN_FUNCTION, b"", 0)
        begun = time.monotonic_ns()
        length = call(self._state, message, len(message), self._answer, len(self._answer))
        busy_ns = time.monotonic_ns() - begun
        if 0 <= length <= len(self._answer):
            return Completion(request, Status.OK, self._answer.raw[:length], busy_ns)
        refusals = {-status: status for status in (Status.BAD_LENGTH, Status.OUT_OF_BOUNDS)}
        return Completion(request, refusals.get(length, Status.FAILED), b"", busy_ns)


def _load(path: str) -> tuple[ctypes.CDLL, _Plugin]:
    try:
        library = ctypes.CDLL(str(Path(path).absolute()))
        plugin = _Plugin.in_dll(library, SYMBOL)
    except (OSError, ValueError) as error:
        raise OfframpError(f"plugin {path}: {error}") from None
    if plugin.abi != ABI or plugin.size < ctypes.sizeof(_Plugin):
        raise OfframpError(f"plugin {path}: interface {plugin.abi}, expected {ABI}")
    return library, plugin
