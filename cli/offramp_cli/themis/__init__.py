# SPDX-License-Identifier: Apache-2.0
"""``offramp simulate themis``, ``offramp themis export`` and ``offramp themis check``."""
