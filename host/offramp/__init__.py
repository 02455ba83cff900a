# SPDX-License-Identifier: Apache-2.0
"""Offramp: the communication of distributed training, moved off the host."""

from offramp.errors import OfframpError

__version__ = "0.1.0"
__all__ = ["OfframpError", "__version__"]
