# SPDX-License-Identifier: Apache-2.0
"""Collectives on simulated networks: metrics, changing speeds, jitter between NPUs, training iterations."""
