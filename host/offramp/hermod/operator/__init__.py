# SPDX-License-Identifier: Apache-2.0
"""An asynchronous all-to-all for torch.distributed that sends in a matching's sub-phases (thesis, section 5.4)."""

from offramp.hermod.operator.all_to_all import AllToAll

__all__ = ["AllToAll"]
