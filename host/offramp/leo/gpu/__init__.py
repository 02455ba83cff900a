# SPDX-License-Identifier: Apache-2.0
"""Functions that answer many requests in one launch on a device of PyTorch, by name."""

from offramp.leo.gpu.registry import GPU_FUNCTIONS, Form, GpuFunction, of_tensors

__all__ = ["GPU_FUNCTIONS", "Form", "GpuFunction", "of_tensors"]
