# SPDX-License-Identifier: Apache-2.0
"""What PyTorch's function mode does not see: compiled functions, backward passes of one's own, Python's generators."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch
import torch.utils.checkpoint
import torch.utils.dlpack

from offramp.gnn.tags import CannotDistributeError, mapped, tag_of, tensors
from offramp_base.errors import OfframpError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from offramp.gnn.comm import Alone, Comm
    from offramp.gnn.mode import Distribution

_RECOMPUTED: Final = "_checkpoint_without_reentrant_generator"
"""PyTorch's function that recomputes activations outside of the pass."""


@contextlib.contextmanager
def guarded(mode: Distribution) -> Iterator[None]:
    """Let what the mode does not see get whole tensors, or refuse it, while a pass runs."""

    def whole_call(name: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not any(tag_of(each) is not None for each in tensors([args, kwargs])):
            return call(*args, **kwargs)

        def change(x: torch.Tensor) -> torch.Tensor:
            return x if tag_of(x) is None else mode.whole_of(x, name).clone()  # a function may free its arguments

        mode.share_generator()
        counted, mode.counted = mode.counted, {}
        try:
            out = call(*mapped(args, change), **mapped(kwargs, change))
        finally:
            mode.counted = counted
        if any(tag_of(each) is not None for each in tensors(out)):
            raise CannotDistributeError(f"{name} takes rows that are none of its arguments; give them as arguments")
        return out

    apply = torch.autograd.Function.__dict__["apply"]
    script = torch.jit.ScriptFunction.__call__

    def applied(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if mode.paused or cls.__module__.startswith("offramp."):
            return apply.__func__(cls, *args, **kwargs)
        return whole_call(cls.__name__, lambda *a, **k: apply.__func__(cls, *a, **k), args, kwargs)

    def scripted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if mode.paused:
            return script(self, *args, **kwargs)
        return whole_call(self.name, lambda *a, **k: script(self, *a, **k), args, kwargs)

    def recomputed(*_: Any, **__: Any) -> Any:
        raise CannotDistributeError("checkpoint recomputes outside of the pass; call it with use_reentrant=True")

    def exported(x: Any) -> Any:
        if tag_of(x) is not None and not mode.paused:
            raise CannotDistributeError("to_dlpack shows the memory of this rank's rows; use gnn.gather(x)")
        return torch._C._to_dlpack(x)

    replaced = [
        (torch.autograd.Function, "apply", classmethod(applied)),
        (torch.jit.ScriptFunction, "__call__", scripted),
        (torch.utils.checkpoint, _RECOMPUTED, recomputed),
        (torch.utils.dlpack, "to_dlpack", exported),
        (torch, "to_dlpack", exported),
    ]
    with contextlib.ExitStack() as stack:
        for owner, name, replacement in replaced:
            original = vars(owner).get(name, getattr(owner, name, None))
            if original is not None:
                stack.callback(setattr, owner, name, original)
                setattr(owner, name, replacement)
        if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):  # else nothing is compiled
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        yield


class SharedRandomness:
    """Numbers that a module draws from Python's and NumPy's generators: those of the first rank.

    The generators of all ranks are made equal before the first pass in training and in evaluation, and before each
    pass if that one drew from them.
    """

    def __init__(self, comm: Comm | Alone) -> None:
        self._comm = comm
        self._drawn: dict[bool, bool] = {}

    @contextlib.contextmanager
    def shared(self, training: bool) -> Iterator[None]:
        """Run one pass.

        Raises:
            OfframpError: it drew numbers that are not the first rank's.
        """
        if self._comm.size == 1:
            yield
            return
        synchronised = self._drawn.get(training, True)
        if synchronised:
            self._copy()
        before = _states()
        yield
        drawn = _states() != before
        if drawn and not synchronised:
            raise OfframpError("the model drew from Python's or NumPy's generator, which it did not do before")
        self._drawn[training] = drawn

    def _copy(self) -> None:
        state = random.getstate()
        legacy: Any = np.random.get_state(legacy=True)  # noqa: NPY002
        words = np.array([*state[1], *legacy[1].tolist(), legacy[2], legacy[3]], np.int64)
        floats = torch.tensor([state[2] or 0.0, float(state[2] is not None), legacy[4]], dtype=torch.float64)
        every = self._comm.broadcast(torch.cat([torch.from_numpy(words), floats.view(torch.int64)]))
        if self._comm.rank:
            words, (gauss, has, cached) = every[:-3].numpy(), every[-3:].view(torch.float64).tolist()
            size = len(state[1])
            random.setstate((state[0], tuple(words[:size].tolist()), gauss if has else None))
            np.random.set_state(  # noqa: NPY002
                ("MT19937", words[size:-2].astype(np.uint32), int(words[-2]), int(words[-1]), float(cached))
            )


def _states() -> tuple[Any, ...]:
    legacy: Any = np.random.get_state(legacy=True)  # noqa: NPY002
    return random.getstate(), legacy[1].tobytes(), legacy[2:]
