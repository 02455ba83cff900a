# SPDX-License-Identifier: Apache-2.0
"""Graphs and what is decided about them: load, partition, boundary, blocks, upload order.

>>> from offramp.graph import Boundary, load_graph, partition_graph
>>> graph = load_graph("karate")
>>> owner = partition_graph(graph, workers=4, method="hash")
>>> boundary = Boundary(graph, owner)
>>> len(owner), int(owner.max()) + 1
(34, 4)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from offramp_base.lazy import face

if TYPE_CHECKING:
    from offramp.graph.blocks import plan_blocks as plan_blocks
    from offramp.graph.boundary import Boundary as Boundary
    from offramp.graph.csr import Adjacency as Adjacency
    from offramp.graph.data import Graph as Graph
    from offramp.graph.data import build_graph as build_graph
    from offramp.graph.generate import generate as generate_graph
    from offramp.graph.load import load as load_graph
    from offramp.graph.order import order as order_uploads
    from offramp.graph.partition import partition as partition_graph
    from offramp.graph.store import read_manifest as read_manifest
    from offramp.graph.store import write_store as write_store
else:
    __getattr__, __dir__, __all__ = face(
        __name__,
        {
            "Adjacency": "offramp.graph.csr",
            "Boundary": "offramp.graph.boundary",
            "Graph": "offramp.graph.data",
            "build_graph": "offramp.graph.data",
            "generate_graph": "offramp.graph.generate:generate",
            "load_graph": "offramp.graph.load:load",
            "order_uploads": "offramp.graph.order:order",
            "partition_graph": "offramp.graph.partition:partition",
            "plan_blocks": "offramp.graph.blocks",
            "read_manifest": "offramp.graph.store",
            "write_store": "offramp.graph.store",
        },
    )
