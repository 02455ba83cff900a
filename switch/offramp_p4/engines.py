# SPDX-License-Identifier: Apache-2.0
"""One way to make a switch, whichever engine runs its program."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from offramp_base.errors import OfframpError
from offramp_p4.optimising import OptimiseWhen
from offramp_p4.source import P4Error

if TYPE_CHECKING:
    from offramp_p4 import ir
    from offramp_p4.native import NativeSwitch
    from offramp_p4.paced import PacedSwitch
    from offramp_p4.plain import PlainSwitch
    from offramp_p4.switch import Switch

AnySwitch: TypeAlias = "PlainSwitch | PacedSwitch"
"""A switch to which a control plane and ports can be attached."""

ENGINES: Final = ("auto", "native", "python")
_PYTHON_ONLY: Final = {"trace": "a trace", "debugger": "a debugger"}
"""Options of the Python engine alone."""
_NATIVE_ONLY: Final = frozenset({"cache", "queued", "log", "log_levels", "outline", "optimise"})


def make_switch(program: ir.Program, engine: str = "auto", **options: Any) -> PlainSwitch:
    """A switch for ``program``.

    ``engine`` is ``native`` (machine code), ``python`` (readable, traces, every architecture) or ``auto``: native
    where llvmlite is installed and the engine executes the program with these options, else Python. The switch says
    which one it is (``.engine``) and why (``.engine_reason``).

    Args:
        program: a v1model, TNA, PSA or PNA program.
        engine: one of :data:`ENGINES`.
        options: options of :class:`~offramp_p4.switch.Switch`: ``seed``, ``cpu_port``, ``drop_port``, ``max_passes``,
            ``max_steps``, ``max_state``, ``trace``, ``debugger``, ``recirculation_ports``, ``host_ports``; and
            ``cache``, of the machine code, ``queued``: code for :class:`~offramp_p4.queued.QueuedSwitch` is made at
            once, the rest when it is first needed, and ``optimise``, an
            :class:`~offramp_p4.optimising.OptimiseWhen`: machine code that is new is optimised when packets have
            become many, if nothing else is given.

    Raises:
        OfframpError: no such engine, or it cannot execute the program with these options.
    """
    if engine not in ENGINES:
        raise OfframpError(f"engine {engine!r}: expected one of {', '.join(ENGINES)}")
    if engine == "python":
        return _python(program, "asked for", options)
    missing = _missing(options)
    if missing is None:
        try:
            return _native(program, "asked for" if engine == "native" else "executes this program", options)
        except OfframpError as error:
            if engine == "native":
                raise
            missing = f"{error.pos}: {error.message}" if isinstance(error, P4Error) else str(error)
    elif engine == "native":
        raise OfframpError(f"native engine: {missing}")
    return _python(program, missing, options)


def _missing(options: dict[str, Any]) -> str | None:
    """The reason that the native engine cannot run the program, as far as shows without compiling; None: no reason."""
    for option, what in _PYTHON_ONLY.items():
        if options.get(option):
            return f"{what} needs the Python engine"
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed (pip install llvmlite)"
    return None


def _python(program: ir.Program, reason: str, options: dict[str, Any]) -> Switch:
    from offramp_p4.switch import Switch

    switch = Switch(program, **{name: value for name, value in options.items() if name not in _NATIVE_ONLY})
    switch.engine_reason = reason
    return switch


def _native(program: ir.Program, reason: str, options: dict[str, Any]) -> NativeSwitch:
    from offramp_p4.native import NativeSwitch

    wanted = {name: value for name, value in options.items() if name not in _PYTHON_ONLY}
    switch = NativeSwitch(program, **{"optimise": OptimiseWhen.WHEN_BUSY, **wanted})
    switch.engine_reason = reason
    return switch
