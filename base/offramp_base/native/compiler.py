# SPDX-License-Identifier: Apache-2.0
"""Compiles LLVM assembly to machine code in this process: optimises, generates, caches and links."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any, Final, Self

from llvmlite import __version__ as llvmlite_version  # type: ignore[import-untyped]
from llvmlite import binding

from offramp_base.errors import OfframpError
from offramp_base.native.cache import ObjectCache

OPTIMISED: Final = 2
"""Level of code that is made once for many packets."""
BASELINE: Final = 0
"""Level of code that is there in a fifth to a tenth of the time."""
LLVMLITE: Final[str] = llvmlite_version
"""Version of the package that writes LLVM assembly and compiles it."""
_SAFE_BITS: Final = 256
"""Widest integer in bits for which LLVM is safe: it ends the process on some operations on longer ones."""
_COMPILE_S: Final = 600.0
_NICE: Final = 10
_FOLLOW_S: Final = 0.2
_ASIDE_S: Final = 60
_ASIDE_BYTES: Final = 4 << 30


@cache
def _initialize() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def _machine(level: int = OPTIMISED) -> Any:
    """A target machine for this host; the caller owns it."""
    _initialize()
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features, opt=level, reloc="pic", codemodel="jitdefault", jit=True
    )


def compile_here(text: str, level: int = OPTIMISED) -> bytes:
    """The object file of a module, made in this process."""
    machine = _machine(level)
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = options.slp_vectorization = level > 0
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    result: bytes = machine.emit_object(module)
    return result


def _compile(text: str, level: int) -> bytes:
    """The object file of a module; made in another process if LLVM may crash on it, unoptimised if need be.

    Raises:
        OfframpError: LLVM fails.
    """
    if max(map(int, re.findall(r"\bi(\d+)\b", text)), default=0) <= _SAFE_BITS:
        return compile_here(text, level)
    for each in dict.fromkeys((level, BASELINE)):
        command = [sys.executable, "-m", "offramp_base.native.compiler", str(each)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(command, input=text.encode(), capture_output=True, check=False, timeout=_COMPILE_S)
            if done.returncode == 0:
                return done.stdout
    raise OfframpError("LLVM cannot compile the program: its numbers are too long")


def _fingerprint() -> str:
    return "\n".join(
        [
            llvmlite_version,
            ".".join(map(str, binding.llvm_version_info)),
            binding.get_default_triple(),
            binding.get_host_cpu_name(),
            binding.get_host_cpu_features().flatten(),
        ]
    )


def _key(text: str, level: int) -> str:
    """The key in the cache of the module that has a text, or follows from it."""
    return f"{_fingerprint()}\n{text}" if level == OPTIMISED else f"{_fingerprint()}\nlevel {level}\n{text}"


class MachineCode:
    """A module in memory, ready to be called.

    Args:
        text: the module in LLVM assembly.
        cache: where machine code is kept; None: the user's cache.
        level: LLVM's level of optimisation, :data:`OPTIMISED` or :data:`BASELINE`.

    Attributes:
        level: that it was compiled with.
        cached: whether the object came from the cache.
        object: the object file.

    Raises:
        OfframpError: LLVM cannot compile it.
    """

    def __init__(self, text: str, cache: ObjectCache | None = None, level: int = OPTIMISED) -> None:
        store, key = ObjectCache() if cache is None else cache, _key(text, level)
        payload = store.get(key)
        self.cached = payload is not None
        if payload is None:
            payload = _compile(text, level)
            store.put(key, payload)
        self._link(payload, level)

    @classmethod
    def of_key(
        cls, key: str, translate: Callable[[], str], cache: ObjectCache | None = None, level: int = OPTIMISED
    ) -> Self:
        """A module that is translated only if the cache has nothing for ``key``, which determines its text."""
        store, own = ObjectCache() if cache is None else cache, _key(key, level)
        payload = store.get(own)
        if payload is None:
            translated = cls(translate(), store, level)
            store.put(own, translated.object)
            return translated
        return cls._of(payload, level)

    @classmethod
    def kept(cls, key: str, cache: ObjectCache | None = None, level: int = OPTIMISED) -> Self | None:
        """The module of a key, if it has been compiled with a level before."""
        payload = (ObjectCache() if cache is None else cache).peek(_key(key, level))
        return None if payload is None else cls._of(payload, level)

    @classmethod
    def of_object(cls, payload: bytes, level: int, key: str, cache: ObjectCache | None = None) -> Self:
        """A module of a key that has been compiled with a level, for this processor; it is kept."""
        (ObjectCache() if cache is None else cache).put(_key(key, level), payload)
        return cls._of(payload, level)

    @classmethod
    def _of(cls, payload: bytes, level: int) -> Self:
        code = cls.__new__(cls)
        code.cached = True
        code._link(payload, level)
        return code

    def _link(self, payload: bytes, level: int) -> None:
        self.object, self.level = payload, level
        _initialize()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())
        self._engine.add_object_file(binding.ObjectFileRef.from_data(payload))
        self._engine.finalize_object()

    def function(self, name: str, result: Any, *params: Any) -> Any:
        """A ctypes function; the GIL is released while it runs."""
        return ctypes.CFUNCTYPE(result, *params)(self.address(name))

    def address(self, name: str) -> int:
        """The address of a function, for other machine code."""
        address: int = self._engine.get_function_address(name)
        assert address, name
        return address


def _follow(parent: int) -> None:
    """End this process when its parent has ended; the kernel's own means look at the thread that started it."""
    while os.getppid() == parent:
        time.sleep(_FOLLOW_S)
    os._exit(1)


def _main() -> None:
    """Compile the standard input with a level.

    With the parent's process id behind it, when nothing else wants the processor, bounded, and no longer than the
    parent lives.
    """
    if sys.argv[2:]:
        threading.Thread(target=_follow, args=(int(sys.argv[2]),), daemon=True).start()
        os.nice(_NICE)
        resource.setrlimit(resource.RLIMIT_CPU, (_ASIDE_S, _ASIDE_S))
        resource.setrlimit(resource.RLIMIT_AS, (_ASIDE_BYTES, _ASIDE_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(compile_here(sys.stdin.read(), int(sys.argv[1])))


if __name__ == "__main__":
    _main()
