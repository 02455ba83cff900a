# SPDX-License-Identifier: Apache-2.0
"""Rules for functions of PyTorch whose rows are vertices or edges of a distributed graph.

A rule maps the pass, the function and its arguments to this rank's rows of the result, or to the result itself where
it is the same on all ranks. ``NotImplemented`` leaves the function to
:meth:`offramp.gnn.mode.Distribution.whole`, which computes it from the rows of all ranks.
"""

from __future__ import annotations

from offramp.gnn.rules import dims, factories, indexing, joins, pointwise, products, scatters, shapes, sizes
from offramp.gnn.rules.table import RULES

__all__ = ["RULES", "dims", "factories", "indexing", "joins", "pointwise", "products", "scatters", "shapes", "sizes"]
