# SPDX-License-Identifier: Apache-2.0
"""TorchGT (Zhang, thesis, chapter 4): graph transformers on long sequences, split by heads over ranks.

>>> from offramp.torchgt import TorchGtSettings
>>> TorchGtSettings(graph="karate").graph
'karate'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.torchgt.kernel import sparse_attention as sparse_attention
    from offramp.torchgt.layer import EdgeAttention as EdgeAttention
    from offramp.torchgt.layer import Edges as Edges
    from offramp.torchgt.memory_check import full_bytes as full_bytes
    from offramp.torchgt.model import GraphTransformer as GraphTransformer
    from offramp.torchgt.parallel import layer_bytes as layer_bytes
    from offramp.torchgt.pattern import Pattern as Pattern
    from offramp.torchgt.pattern import pattern_of as pattern_of
    from offramp.torchgt.results import TorchGtResult as TorchGtResult
    from offramp.torchgt.run import train as train_torchgt
    from offramp.torchgt.settings import TorchGtSettings as TorchGtSettings
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "EdgeAttention": "offramp.torchgt.layer",
            "Edges": "offramp.torchgt.layer",
            "GraphTransformer": "offramp.torchgt.model",
            "Pattern": "offramp.torchgt.pattern",
            "TorchGtResult": "offramp.torchgt.results",
            "TorchGtSettings": "offramp.torchgt.settings",
            "full_bytes": "offramp.torchgt.memory_check",
            "layer_bytes": "offramp.torchgt.parallel",
            "pattern_of": "offramp.torchgt.pattern",
            "sparse_attention": "offramp.torchgt.kernel",
            "train_torchgt": "offramp.torchgt.run:train",
        },
    )
