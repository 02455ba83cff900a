# SPDX-License-Identifier: Apache-2.0
"""LEO's key-value store: ``libofframp`` (``smartnic/store``), driven from Python."""
