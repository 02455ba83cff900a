"""Slot-level models of SwitchGNN for graphs that packets cannot reach."""
