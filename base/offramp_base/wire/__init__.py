# SPDX-License-Identifier: Apache-2.0
"""Packet formats, defined once: field tables from which NumPy views, the P4 tests and their scapy layers come."""
