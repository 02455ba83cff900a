# SPDX-License-Identifier: Apache-2.0
"""PyTorch in one thread."""

from one_thread import one_compute_thread

__all__ = ["one_compute_thread"]
