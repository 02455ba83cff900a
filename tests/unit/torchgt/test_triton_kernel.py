# SPDX-License-Identifier: Apache-2.0
"""TorchGT's Triton kernels in Triton's interpreter, against PyTorch's operations, which a dense oracle checks."""

from __future__ import annotations

import pytest

from triton_interpreter import interpreted

pytestmark = pytest.mark.full


@pytest.mark.slow
def test_outputs_and_gradients_of_all_kinds_of_patterns_are_those_of_pytorch() -> None:
    pytest.importorskip("triton")
    interpreted("triton_attention.py", "cpu")


def test_a_wrong_gradient_would_be_seen() -> None:
    pytest.importorskip("triton")
    with pytest.raises(AssertionError, match="Tensor-likes are not close"):
        interpreted("triton_attention.py", "cpu", "wrong bias")
