# SPDX-License-Identifier: Apache-2.0
"""Sparse products with gradients that PyTorch's own CSR support lacks or makes slow."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    import scipy.sparse as sp


def torch_csr(
    matrix: sp.csr_matrix, dtype: torch.dtype = torch.float32, device: torch.device | None = None
) -> torch.Tensor:
    """A matrix as a torch CSR tensor, by default in main memory."""
    if not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    index = torch.int32 if max(matrix.nnz, *matrix.shape) < 1 << 31 else torch.int64  # MKL converts others each time
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor support is in beta|invariant checks are)")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr).to(index),
            torch.from_numpy(matrix.indices).to(index),
            torch.from_numpy(matrix.data).to(dtype),
            size=matrix.shape,
            check_invariants=True,
        ).to(device)


class _Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, matrix: SparseMatrix) -> torch.Tensor:
        ctx.matrix = matrix
        with torch.autocast(x.device.type, enabled=False):  # there are no sparse products of bfloat16
            return matrix.values @ x.to(matrix.values.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        return ctx.matrix.transposed @ gradients[0].contiguous(), None


class SparseMatrix:
    """A constant sparse matrix ``(t, s)`` whose products have gradients.

    Attributes:
        values: the matrix.
    """

    def __init__(self, matrix: sp.csr_matrix, dtype: torch.dtype, device: torch.device | None = None) -> None:
        self.values = torch_csr(matrix, dtype, device)
        self._matrix = matrix

    @cached_property
    def transposed(self) -> torch.Tensor:
        """``(s, t)`` transpose, made when the first gradient needs it."""
        return torch_csr(self._matrix.T.tocsr(), self.values.dtype, self.values.device)

    def __matmul__(self, x: torch.Tensor) -> torch.Tensor:
        product: torch.Tensor = _Times.apply(x, self)  # type: ignore[no-untyped-call]
        return product


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: torch.Tensor, transposed: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        ctx.transposed = transposed
        with torch.autocast(weight.device.type, enabled=False):
            return features @ weight

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, None, torch.Tensor]:
        return None, None, ctx.transposed @ gradients[0]


class FeatureMatrix(Protocol):
    """Constant features ``(n, F)`` that are not a plain tensor."""

    def __matmul__(self, weight: torch.Tensor) -> torch.Tensor:
        """``(n, out)`` from ``(F, out)``, with the gradient of the weight."""

    def head(self, count: int) -> FeatureMatrix:
        """Features of the first ``count`` vertices."""

    def to_dense(self) -> torch.Tensor:
        """The features as a dense ``(n, F)`` tensor."""


class SparseFeatures:
    """A constant sparse feature matrix ``(n, F)`` that multiplies a trained weight ``(F, out)``."""

    def __init__(
        self, matrix: sp.csr_matrix, dtype: torch.dtype = torch.float32, device: torch.device | None = None
    ) -> None:
        self._source, self._dtype = matrix, dtype
        self._features = torch_csr(matrix, dtype, device)
        self._transposed = torch_csr(matrix.T.tocsr(), dtype, device)
        self._heads: dict[int, SparseFeatures] = {}

    def head(self, count: int) -> SparseFeatures:
        """Features of the first ``count`` vertices; cached, as each epoch asks for the same."""
        if count not in self._heads:
            self._heads[count] = SparseFeatures(self._source[:count], self._dtype, self._features.device)
        return self._heads[count]

    def __matmul__(self, weight: torch.Tensor) -> torch.Tensor:
        operands = (self._features, self._transposed, weight)
        product: torch.Tensor = _Project.apply(*operands)  # type: ignore[no-untyped-call]
        return product

    def to_dense(self) -> torch.Tensor:
        """The features as a dense ``(n, F)`` tensor."""
        return self._features.to_dense()
