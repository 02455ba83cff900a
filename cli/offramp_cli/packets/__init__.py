# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate packets``."""
