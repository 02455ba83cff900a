# SPDX-License-Identifier: Apache-2.0
"""Slot-level models of SwitchGNN for graphs that packets cannot reach."""
