# SPDX-License-Identifier: Apache-2.0
"""``offramp hermod`` and ``offramp simulate hermod``."""
