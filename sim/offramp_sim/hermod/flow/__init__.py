# SPDX-License-Identifier: Apache-2.0
"""Coflows as fluid on a fat tree with strict priorities, for thousands of GPUs."""
