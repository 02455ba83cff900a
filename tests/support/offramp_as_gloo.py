# SPDX-License-Identifier: Apache-2.0
"""A plug-in for PyTorch's own tests: what they call gloo is the backend offramp around gloo.

Many of those tests run only for backends of certain names. With this, ``gloo`` is such a name and offramp what runs,
with the offloads of the file that ``OFFRAMP_NETWORK`` names, if it names one (:mod:`torch_suite`).
"""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d

from offramp.torch.create import extension, wrapped
from offramp.torch.settings import NetworkSettings

GLOO = c10d.ProcessGroupGloo
compiled = extension()
assert compiled is not None


class _Named(type):
    """``ProcessGroupGloo(...)`` makes offramp's backend, and that is an instance of it."""

    def __call__(cls, store: Any, rank: int, size: int, timeout: timedelta | None = None, options: Any = None) -> Any:
        timeout = timeout or timedelta(minutes=30)
        inner = GLOO(store, rank, size, timeout) if options is None else GLOO(store, rank, size, options)
        caller = sys._getframe(1)
        if caller.f_globals["__name__"].startswith("offramp."):
            return inner  # an offload's own
        inner._set_sequence_number_for_group()
        maker = caller.f_locals  # PyTorch tells its own gloo of these only later
        ranks = maker.get("global_ranks_in_group") or range(size)
        name = maker.get("group_name") or "of a test"
        settings = NetworkSettings.from_environment()
        return wrapped(inner, None, store, ranks, name, timeout, settings)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, compiled.Backend | GLOO)

    def __getattr__(cls, name: str) -> Any:
        return getattr(GLOO, name)


class OfframpAsGloo(metaclass=_Named):
    """In the place of gloo's class."""


c10d.ProcessGroupGloo = dist.ProcessGroupGloo = OfframpAsGloo
compiled.Backend._set_default_timeout = compiled.Backend.set_timeout
