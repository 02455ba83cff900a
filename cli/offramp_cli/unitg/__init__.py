# SPDX-License-Identifier: Apache-2.0
"""``offramp train unitg`` and ``offramp simulate unitg``."""
