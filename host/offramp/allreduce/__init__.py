# SPDX-License-Identifier: Apache-2.0
"""All-reduce of any tensor in the switch: packets, a window of slots, block floating point."""
