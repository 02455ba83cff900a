# SPDX-License-Identifier: Apache-2.0
"""Slot-level models of SwitchGNN, for graphs too large to simulate packet by packet."""
