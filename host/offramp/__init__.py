# SPDX-License-Identifier: Apache-2.0
"""Offramp: the communication of distributed training, moved off the host."""

from offramp_base import __version__
from offramp_base.errors import OfframpError

__all__ = ["OfframpError", "__version__"]
