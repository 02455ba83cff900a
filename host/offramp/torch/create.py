# SPDX-License-Identifier: Apache-2.0
"""A group's backend: gloo (and NCCL where available), wrapped by the part that sends collectives to offloads."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from datetime import timedelta
from functools import cache
from typing import Any, Final

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from offramp.torch import build
from offramp.torch.dispatcher import BackendDispatcher
from offramp.torch.names import store_of_group
from offramp.torch.on_signal import dump_on_signal
from offramp.torch.pipelines import watch_pipelines
from offramp.torch.place import OffloadGroup
from offramp.torch.settings import VARIABLE, NetworkSettings
from offramp.torch.types import NAME, OPERATIONS
from offramp_base.errors import OfframpError

c10d: Any = distributed_c10d
"""The module as Any: its stubs lack NCCL's backend where PyTorch has none."""
WITHOUT_COMPILER: Final = "OFFRAMP_TORCH_PYTHON"
"""Environment variable: if set, the backend runs in Python even if there is a compiler."""
_log = logging.getLogger("offramp.torch")


@cache
def network(rank: int) -> NetworkSettings | None:
    """The settings of this process; if there are none, rank 0 reports it once."""
    settings = NetworkSettings.from_environment()
    if settings is None and rank == 0:
        _log.warning("%s names no network: the backend offramp is gloo", VARIABLE)
    return settings


@cache
def extension() -> Any:
    """The compiled backend; None, reported once, if it cannot be built."""
    if os.environ.get(WITHOUT_COMPILER):
        return None
    try:
        return build.load()
    except OfframpError as error:
        _log.warning("%s; the backend offramp is in Python: fewer collectives can be offloaded", error)
        return None


def create(options: Any) -> Any:
    """Create the backend of a new group for ``torch.distributed``.

    Raises:
        OfframpError: the settings are invalid.
    """
    seconds = options.timeout
    timeout = seconds if isinstance(seconds, timedelta) else timedelta(seconds=float(seconds))
    size, rank = options.group_size, options.group_rank
    ranks = list(options.global_ranks_in_group) or list(range(size))
    store = store_of_group(options.store, rank)
    inner = dist.ProcessGroupGloo(store, rank, size, timeout)
    inner.options.global_ranks_in_group = list(options.global_ranks_in_group)
    inner.options.group_name = options.group_id
    inner._set_sequence_number_for_group()
    settings = network(_rank(options))
    if settings is not None and settings.dump is not None:
        dump_on_signal()
    return wrapped(inner, _nccl(options, store, timeout), store, ranks, options.group_id, timeout, settings)


def wrapped(
    inner: Any,
    cuda: Any,
    store: Any,
    ranks: Sequence[int],
    name: str,
    timeout: timedelta,
    settings: NetworkSettings | None,
) -> Any:
    """A backend around gloo's (``inner``) and, for GPUs, NCCL's (``cuda``, or None)."""
    watch_pipelines()
    place = OffloadGroup(inner.rank(), inner.size(), tuple(ranks), name, store, timeout)
    dispatcher = BackendDispatcher(place, settings, wrapped)
    compiled = extension()
    if compiled is None:
        from offramp.torch.fallback import PythonGroup

        group = PythonGroup(inner, cuda, dispatcher)
        dispatcher.prepare()
        return group
    history = (settings or NetworkSettings()).history
    backend = compiled.Backend(inner, cuda, NAME, history, dispatcher)
    dispatcher.recorder = backend.recorder
    for number, kind in OPERATIONS.items():
        least = dispatcher.least(kind)
        if least is not None:
            backend.watch(number, least)
    dispatcher.prepare()
    return backend


def _rank(options: Any) -> int:
    """Rank of this process in the default group."""
    return int(dist.get_rank() if dist.is_initialized() else options.group_rank)


def _nccl(options: Any, store: Any, timeout: timedelta) -> Any:
    """NCCL's backend if PyTorch has NCCL and each rank has its own GPU; else None."""
    if not (torch.cuda.is_available() and dist.is_nccl_available()):
        return None
    if torch.cuda.device_count() < _local_ranks(options.group_size):
        return None
    backend_options = c10d.ProcessGroupNCCL.Options()
    backend_options._timeout = timeout
    backend_options.global_ranks_in_group = list(options.global_ranks_in_group)
    backend_options.group_name = options.group_id
    own = c10d.PrefixStore("nccl/", store)
    backend = c10d.ProcessGroupNCCL(own, options.group_rank, options.group_size, backend_options)
    backend._set_sequence_number_for_group()
    return backend


def _local_ranks(size: int) -> int:
    """Number of ranks on this machine as reported by the launcher, else all of a group of ``size``."""
    local_size = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("WORLD_SIZE") or ""
    return int(local_size) if local_size.isdecimal() else size
