# SPDX-License-Identifier: Apache-2.0
"""Graphs and what is decided about them: load, partition, boundary, blocks, upload order."""
