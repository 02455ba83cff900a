# SPDX-License-Identifier: Apache-2.0
"""Simulated networks, clusters and cards, and what they reproduce from the papers."""
