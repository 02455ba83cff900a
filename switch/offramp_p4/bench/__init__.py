# SPDX-License-Identifier: Apache-2.0
"""The speed of the P4 switch's engines on a program, and of bmv2 beside them."""

FRAME_BYTES = (64, 512, 1500)
"""Frame sizes in bytes with which a router is measured."""
