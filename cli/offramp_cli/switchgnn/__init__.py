# SPDX-License-Identifier: Apache-2.0
"""``offramp plan`` and the switches of ``offramp train``."""
