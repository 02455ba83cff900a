# SPDX-License-Identifier: Apache-2.0
"""``torch.distributed`` over the offloads: ``init_process_group("offramp")``.

``import torch`` loads this module through PyTorch's entry point (``torch.backends``), so it imports only what is loaded
anyway; the code that runs collectives is imported with the first process group.

>>> import torch
>>> from offramp.torch import Offload
>>> torch.distributed.Backend.OFFRAMP, Offload.kinds
('offramp', ())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.torch.api import counters as counters
    from offramp.torch.api import dump as dump
    from offramp.torch.api import last_collectives as last_collectives
    from offramp.torch.api import priority as priority
    from offramp.torch.offload import Offload as Offload
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Offload": "offramp.torch.offload",
            "counters": "offramp.torch.api",
            "dump": "offramp.torch.api",
            "last_collectives": "offramp.torch.api",
            "priority": "offramp.torch.api",
        },
    )


def autoload() -> None:
    """Register the backend; any failure is only a warning, since it must not break ``import torch``."""
    try:
        from offramp.torch.registration import register

        register()
    except Exception as error:
        import warnings

        warnings.warn(f"torch.distributed has no backend offramp: {error}", stacklevel=2)


autoload()
