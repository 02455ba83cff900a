# SPDX-License-Identifier: Apache-2.0
"""The P4 software switch: front end, typed IR, engines, v1model, TNA, PSA and PNA, P4Runtime server, STF.

>>> from offramp_p4 import load, make_switch
>>> switch = make_switch(load("p4/examples/reflector.p4"), engine="python")
>>> frame = bytes(range(12)) + bytes.fromhex("88b5") + bytes(50)
>>> [(port, data == frame) for port, data in switch.process_one(3, frame)]
[(3, False)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp_p4.embedded import EmbeddedSwitch as EmbeddedSwitch
    from offramp_p4.engines import AnySwitch as AnySwitch
    from offramp_p4.engines import make_switch as make_switch
    from offramp_p4.externs import Extern as Extern
    from offramp_p4.frontend import load as load
    from offramp_p4.ir import Program as Program
    from offramp_p4.plain import PlainSwitch as PlainSwitch
    from offramp_p4.queued import QueuedSwitch as QueuedSwitch
    from offramp_p4.settings import Settings as Settings
    from offramp_p4.state import TableEntry as TableEntry
    from offramp_p4.stf import run_stf as run_stf
    from offramp_p4.tm import TmConfig as TmConfig
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "AnySwitch": "offramp_p4.engines",
            "EmbeddedSwitch": "offramp_p4.embedded",
            "Extern": "offramp_p4.externs",
            "PlainSwitch": "offramp_p4.plain",
            "Program": "offramp_p4.ir",
            "QueuedSwitch": "offramp_p4.queued",
            "Settings": "offramp_p4.settings",
            "TableEntry": "offramp_p4.state",
            "TmConfig": "offramp_p4.tm",
            "load": "offramp_p4.frontend",
            "make_switch": "offramp_p4.engines",
            "run_stf": "offramp_p4.stf",
        },
    )
