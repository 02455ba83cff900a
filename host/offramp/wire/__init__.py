"""Packet formats, defined once: field tables from which NumPy views, scapy layers and the P4 tests come."""
