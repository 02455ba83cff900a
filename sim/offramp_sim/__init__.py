# SPDX-License-Identifier: Apache-2.0
"""Simulated hardware: the P4 software switch and the models that stand in for the world."""
