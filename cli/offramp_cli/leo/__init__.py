# SPDX-License-Identifier: Apache-2.0
"""``offramp leo`` and ``offramp simulate leo``."""
