# SPDX-License-Identifier: Apache-2.0
"""Coflows as fluid on a fat tree with strict priorities: the size of thousands of GPUs."""
