# SPDX-License-Identifier: Apache-2.0
"""Stores behind BF-RT tables: the switch's state, one module for each kind of table."""
