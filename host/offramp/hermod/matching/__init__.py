# SPDX-License-Identifier: Apache-2.0
"""Sub-phases of an imbalanced all-to-all, each a matching (Wan's thesis, section 5.3.2)."""

from offramp.hermod.matching.decompose import decompose
from offramp.hermod.matching.literal import literal
from offramp.hermod.matching.schedule import Schedule, bound, check_matrix

__all__ = ["Schedule", "bound", "check_matrix", "decompose", "literal"]
