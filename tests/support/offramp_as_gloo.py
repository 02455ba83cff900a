# SPDX-License-Identifier: Apache-2.0
"""A plug-in for PyTorch's own tests: what they call gloo is the backend offramp around gloo.

Many of those tests run only for backends of certain names. With this, ``gloo`` is such a name and offramp what runs.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from offramp.torch.create import extension, wrapped

GLOO = c10d.ProcessGroupGloo
compiled = extension()
assert compiled is not None


class _Named(type):
    """``ProcessGroupGloo(...)`` makes offramp's backend, and that is an instance of it."""

    def __call__(cls, store: Any, rank: int, size: int, timeout: timedelta | None = None, options: Any = None) -> Any:
        timeout = timeout or timedelta(minutes=30)
        inner = GLOO(store, rank, size, timeout) if options is None else GLOO(store, rank, size, options)
        inner._set_sequence_number_for_group()
        return wrapped(inner, None, store, range(size), "of a test", timeout, None)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, compiled.Backend | GLOO)

    def __getattr__(cls, name: str) -> Any:
        return getattr(GLOO, name)


class OfframpAsGloo(metaclass=_Named):
    """In the place of gloo's class."""


c10d.ProcessGroupGloo = dist.ProcessGroupGloo = OfframpAsGloo
compiled.Backend._set_default_timeout = compiled.Backend.set_timeout
