# SPDX-License-Identifier: Apache-2.0
"""Offramp: the communication of distributed training, moved off the host; each package has its own face.

>>> from offramp import p4_text, run_sweep
>>> "parser" in p4_text("switchgnn/v1model.p4")
True
>>> list(run_sweep(abs, [-1, 2], processes=1))
[1, 2]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base import __version__ as __version__
from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.device import CompiledFunction as CompiledFunction
    from offramp.device import Completion as Completion
    from offramp.device import Device as Device
    from offramp.device import DeviceMemory as DeviceMemory
    from offramp.device import Status as Status
    from offramp.p4src import p4_root as p4_root
    from offramp.p4src import p4_source as p4_source
    from offramp.p4src import p4_text as p4_text
    from offramp.sweep import on_dask as on_dask
    from offramp.sweep import sweep as run_sweep
    from offramp_base.errors import OfframpError as OfframpError
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "CompiledFunction": "offramp.device",
            "Completion": "offramp.device",
            "Device": "offramp.device",
            "DeviceMemory": "offramp.device",
            "OfframpError": "offramp_base.errors",
            "Status": "offramp.device",
            "on_dask": "offramp.sweep",
            "p4_root": "offramp.p4src",
            "p4_source": "offramp.p4src",
            "p4_text": "offramp.p4src",
            "run_sweep": "offramp.sweep:sweep",
        },
    )
