# SPDX-License-Identifier: Apache-2.0
"""Functions that a user supplies, in Python or in C; they run in this process with its rights.

Only what the command names is run, never what a configuration names. A Python file supplies each function that it
defines with one parameter and a name without a leading underscore: it takes the request's bytes and returns the
answer's. One whose parameter is a ``torch.Tensor`` takes ``(n, bytes)`` messages of one length at once and returns
``(n, bytes)`` answers, both of uint8: a GPU calls it with all waiting messages at once, other devices with one message
on the processor. A shared library supplies the functions of its plug-in (``offramp.h``).
"""

from __future__ import annotations

import inspect
import runpy
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from offramp.device import Message, Status
from offramp.leo.functions.registry import FUNCTIONS, Function
from offramp_base.errors import OfframpError

_loaded: Final[dict[Path, tuple[str, ...]]] = {}


def load_code(paths: Iterable[str | Path]) -> tuple[str, ...]:
    """Register the functions of these files in this process and return their names; a file is loaded once.

    Raises:
        OfframpError: a file cannot be loaded or has no functions, or one has the name of another function.
    """
    names: list[str] = []
    for given in paths:
        path = Path(given).absolute()
        if path not in _loaded:
            functions = _of_python(path, given) if path.suffix == ".py" else _of_plugin(path, given)
            for name in functions:
                if name in FUNCTIONS:
                    raise OfframpError(f"code {given}: function {name}: this name is taken already")
            for name, function in functions.items():
                FUNCTIONS.register(name)(function)
            _loaded[path] = tuple(functions)
        names += _loaded[path]
    return tuple(names)


def _of_python(path: Path, given: str | Path) -> dict[str, Function]:
    try:
        module = runpy.run_path(str(path), run_name=path.stem)
    except OSError as error:
        raise OfframpError(f"code {given}: {error.strerror or error}") from None
    except Exception as error:
        raise OfframpError(f"code {given}: {type(error).__name__}: {error}") from None
    functions = {
        name: Function(_guarded(name, _registered(name, thing)), refusal=Status.FAILED)
        for name, thing in module.items()
        if inspect.isfunction(thing)
        and thing.__module__ == path.stem
        and not name.startswith("_")
        and len(inspect.signature(thing).parameters) == 1
    }
    if not functions:
        raise OfframpError(f"code {given}: expected functions of one parameter, the request's bytes")
    return functions


def _registered(name: str, thing: Callable[[Any], Any]) -> Callable[[bytes], Any]:
    """The function as one that takes bytes; one of tensors is registered for GPUs, too."""
    (parameter,) = inspect.signature(thing).parameters.values()
    if "Tensor" not in str(parameter.annotation):
        return thing
    from offramp.leo.gpu.registry import GPU_FUNCTIONS, of_tensors, one_by_one

    GPU_FUNCTIONS.register(name)(of_tensors(thing))
    return one_by_one(thing)


def _guarded(name: str, thing: Callable[[bytes], Any]) -> Callable[[Message], bytes]:
    def answer(message: Message) -> bytes:
        try:
            return bytes(thing(bytes(message)))
        except Exception as error:
            raise OfframpError(f"function {name}: {type(error).__name__}: {error}") from error

    return answer


def _of_plugin(path: Path, given: str | Path) -> dict[str, Function]:
    from offramp.leo.devices.plugin import PluginDevice

    if not path.is_file():
        raise OfframpError(f"code {given}: no such file; expected .py, or a shared library")
    plugin = PluginDevice(str(path))
    lock = threading.Lock()

    def caller(name: str) -> Callable[[Message], bytes]:
        def answer(message: Message) -> bytes:
            with lock:  # its answers share a buffer
                plugin.submit(name, 0, message)
                (completion,) = plugin.poll()
            if completion.status is not Status.OK:
                raise OfframpError(f"function {name}: {completion.status.name.lower().replace('_', ' ')}")
            return bytes(completion.message)

        return answer

    return {name: Function(caller(name), refusal=Status.FAILED) for name in plugin.functions}
