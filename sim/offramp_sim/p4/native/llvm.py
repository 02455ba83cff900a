"""The one door to llvmlite: its IR layer as ``ll``, the host's target machine, optimisation, linking."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

from llvmlite import __version__ as llvmlite_version  # type: ignore[import-untyped]
from llvmlite import binding
from llvmlite import ir as _ir

from offramp_sim.p4.native.cache import ObjectCache

ll: Any = _ir
Value = Any
"""An SSA value."""

I1: Final = ll.IntType(1)
I8: Final = ll.IntType(8)
I16: Final = ll.IntType(16)
I32: Final = ll.IntType(32)
I64: Final = ll.IntType(64)
F64: Final = ll.DoubleType()
PTR: Final = ll.PointerType()


def const(t: Any, value: int) -> Value:
    """A constant; negative numbers in two's complement."""
    return ll.Constant(t, value & ((1 << t.width) - 1))


def i64(value: int) -> Value:
    """A constant of 64 bits."""
    return const(I64, value)


class AliasTags:
    """Which accesses can overlap: TBAA metadata for kinds of memory that never do."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._root = module.add_metadata(["offramp"])
        self._tags: dict[str, Any] = {}

    def mark(self, access: Value, kind: str) -> Value:
        """Say that a load or store touches memory of ``kind`` only; returns the access."""
        if kind not in self._tags:
            node = self._module.add_metadata([kind, self._root, i64(0)])
            self._tags[kind] = self._module.add_metadata([node, node, i64(0)])
        access.set_metadata("tbaa", self._tags[kind])
        return access


@cache
def _initialize() -> None:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


def _machine() -> Any:
    """A target machine for this host; whoever is given it owns it."""
    _initialize()
    target = binding.Target.from_default_triple()
    features = binding.get_host_cpu_features().flatten()
    return target.create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="jitdefault", jit=True
    )


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


def _compile(text: str) -> bytes:
    machine = _machine()
    module = binding.parse_assembly(text)
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    options.slp_vectorization = True
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    machine.set_asm_verbosity(False)
    result: bytes = machine.emit_object(module)
    return result


class MachineCode:
    """A module in memory, ready to be called.

    Attributes:
        cached: whether the object came from the cache.
    """

    def __init__(self, text: str, cache: ObjectCache | None = None) -> None:
        store = ObjectCache() if cache is None else cache
        key = f"{_fingerprint()}\n{text}"
        payload = store.get(key)
        self.cached = payload is not None
        if payload is None:
            payload = _compile(text)
            store.put(key, payload)
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())
        self._engine.add_object_file(binding.ObjectFileRef.from_data(payload))
        self._engine.finalize_object()

    def function(self, name: str, result: Any, *params: Any) -> Any:
        """A ctypes function; the GIL is released while it runs."""
        address = self._engine.get_function_address(name)
        assert address, name
        return ctypes.CFUNCTYPE(result, *params)(address)
