# SPDX-License-Identifier: Apache-2.0
"""What stands behind BF-RT tables: the switch's state, one module for each kind of table."""
