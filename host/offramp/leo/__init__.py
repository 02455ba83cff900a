# SPDX-License-Identifier: Apache-2.0
"""LEO: an application's dataflow written once, run over the CPU, FPGA and smartNIC paths that a host has.

>>> from offramp.leo import Table
>>> table = Table.disjoint([[20_000, 10_000]], [[20_000, 10_000]], types=("SHOUT",), paths=("cpu", "acc"))
>>> table.paths
('cpu', 'acc')

Both sides may have devices: :meth:`Context.init` takes the requester's, :meth:`Context.serve` the responder's.
``examples/leo_fpga.py`` sends a request to an FPGA at the responder.

>>> from offramp.leo import Context
>>> responder = Context()
>>> list(responder.serve(devices={"fpga": "fpga-model:"}).service.dispatchers)
['fpga']
>>> responder.close()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.leo.config.files import load_config as load_config
    from offramp.leo.native.dataflow import Dataflow as Dataflow
    from offramp.leo.native.dataflow import Trip as Trip
    from offramp.leo.native.functions import READ as READ
    from offramp.leo.native.functions import WRITE as WRITE
    from offramp.leo.runtime.context import Context as Context
    from offramp.leo.runtime.context import Reply as Reply
    from offramp.leo.runtime.requester import RequesterSettings as RequesterSettings
    from offramp.leo.selection.table import Table as Table
    from offramp.leo.store.client import StoreClient as StoreClient
    from offramp.leo.store.process import StoreProcess as StoreProcess
    from offramp.leo.store.settings import StoreSettings as StoreSettings
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Context": "offramp.leo.runtime.context",
            "Dataflow": "offramp.leo.native.dataflow",
            "READ": "offramp.leo.native.functions",
            "Reply": "offramp.leo.runtime.context",
            "RequesterSettings": "offramp.leo.runtime.requester",
            "StoreClient": "offramp.leo.store.client",
            "StoreProcess": "offramp.leo.store.process",
            "StoreSettings": "offramp.leo.store.settings",
            "Table": "offramp.leo.selection.table",
            "Trip": "offramp.leo.native.dataflow",
            "WRITE": "offramp.leo.native.functions",
            "load_config": "offramp.leo.config.files",
        },
    )
