# SPDX-License-Identifier: Apache-2.0
"""``torch.distributed`` over the offloads: ``init_process_group("offramp")``.

``import torch`` loads this module through PyTorch's entry point (``torch.backends``), so it imports only what is loaded
anyway; the code that runs collectives is imported with the first process group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offramp.torch.api import counters, dump, last_collectives, priority

__all__ = ["autoload", "counters", "dump", "last_collectives", "priority"]


def autoload() -> None:
    """Register the backend; any failure is only a warning, since it must not break ``import torch``."""
    try:
        from offramp.torch.registration import register

        register()
    except Exception as error:
        import warnings

        warnings.warn(f"torch.distributed has no backend offramp: {error}", stacklevel=2)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from offramp.torch import api

    return getattr(api, name)


autoload()
