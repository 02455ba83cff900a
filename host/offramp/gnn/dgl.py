# SPDX-License-Identifier: Apache-2.0
"""Models of DGL: a rank's part of a graph as a block that layers of ``dgl.nn`` take.

A layer of ``dgl.nn`` sends along the edges of a graph object, which no function mode can see. So it gets the rank's
edges as a block, whose sources are own vertices and the halo, and rows of both; out-degrees are those of the whole
graph. DGL is imported where a block is made, and nowhere else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch import nn

from offramp.gnn.exchanges import PlainExchange
from offramp.gnn.halo import ExchangeKey, collect, extend
from offramp.gnn.parts import HOMOGENEOUS
from offramp.gnn.tags import CannotDistributeError
from offramp_base.errors import OfframpError
from offramp_base.extras import needs

if TYPE_CHECKING:
    from offramp.gnn.parts import Partition

LAYERS: Final = (
    "AGNNConv",
    "CFConv",
    "DotGatConv",
    "EdgeConv",
    "EdgeGATConv",
    "GATConv",
    "GATv2Conv",
    "GINConv",
    "GINEConv",
    "GraphConv",
    "NNConv",
    "RelGraphConv",
    "SAGEConv",
)
"""Layers of ``dgl.nn`` that look at neighbours once, and are exact on blocks."""


def rank_graph(part: Partition) -> Any:
    """The rank's edges as a ``DGLBlock`` on which layers of ``dgl.nn`` run; every rank calls this together.

    Edges are in the order of ``part.edge_index``. Pass it to a module that :func:`offramp.gnn.distribute` was given.

    Raises:
        OfframpError: DGL is not installed, or the graph has several types.
    """
    try:
        import dgl
        from dgl.heterograph import DGLBlock
    except ImportError:
        raise OfframpError(f"rank_graph: {needs('dgl')}") from None
    if not part.homogeneous:
        raise OfframpError("rank_graph: expected a graph of one type")

    class RankBlock(DGLBlock):  # type: ignore[misc]
        """A block that knows its sources' out-degrees in the whole graph."""

        rank_out_degrees: torch.Tensor

        def out_degrees(self, *_args: Any, **_kwargs: Any) -> torch.Tensor:
            """``(n + h,)`` edges of each source in the whole graph."""
            return self.rank_out_degrees

    vertices = part.vertices[HOMOGENEOUS]
    index = part.edge_index
    sources = vertices.owned + vertices.halo.rows
    block = dgl.create_block(
        (index[0].contiguous(), index[1].contiguous()), num_src_nodes=sources, num_dst_nodes=vertices.owned
    )
    block.__class__ = RankBlock
    counts = torch.bincount(index[0], minlength=sources).double()
    degrees = extend(collect(counts, vertices.halo), vertices.halo, PlainExchange(), ExchangeKey(-1, 0))
    block.rank_out_degrees = degrees.long()
    return block


def layers_of(module: nn.Module) -> list[nn.Module]:
    """The layers of ``dgl.nn`` in a module, without those that are parts of others.

    Raises:
        OfframpError: a layer that looks at more than neighbours, or was not tried.
    """
    layers: list[nn.Module] = []
    inside: set[int] = set()
    for name, each in module.named_modules():
        kind = type(each)
        if id(each) in inside or not kind.__module__.startswith("dgl.nn.pytorch.conv."):
            continue
        if kind.__name__ not in LAYERS:
            raise OfframpError(
                f"{name or 'module'} ({kind.__name__}): takes rows of more than neighbours, or was not tried; "
                f"expected one of {', '.join(LAYERS)}"
            )
        layers.append(each)
        inside |= {id(part) for part in each.modules()}
    return layers


def refuse_dropout(module: nn.Module) -> None:
    """Refuse a layer whose own dropout would differ between a row and its copies on other ranks.

    Raises:
        CannotDistributeError: in training, for any rate above 0.
    """
    if module.training and any(isinstance(each, nn.Dropout) and each.p > 0 for each in module.modules()):
        raise CannotDistributeError("its dropout differs from rank to rank; expected 0 here, and dropout before it")
