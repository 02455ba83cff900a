# SPDX-License-Identifier: Apache-2.0
"""How fast the engines of the P4 switch run a program, and bmv2 beside them."""

FRAME_BYTES = (64, 512, 1500)
"""Frame sizes in bytes with which a router is measured."""
