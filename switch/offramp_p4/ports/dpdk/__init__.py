# SPDX-License-Identifier: Apache-2.0
"""Ports on DPDK's devices, whose packets threads of a library move between devices and machine code."""
