# SPDX-License-Identifier: Apache-2.0
"""The six-vertex example of switchgnn.md section 14.3."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from offramp.graph.boundary import Boundary
from offramp.graph.csr import symmetric_csr

EDGES = np.array([[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 5], [2, 3], [2, 4], [3, 5]])


@pytest.fixture
def g6():
    indptr, indices = symmetric_csr(6, EDGES[:, 0], EDGES[:, 1])
    return SimpleNamespace(indptr=indptr, indices=indices)


@pytest.fixture
def g6_boundary(g6):
    return Boundary(g6, [0, 0, 1, 1, 2, 2])
