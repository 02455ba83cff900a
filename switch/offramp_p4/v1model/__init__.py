# SPDX-License-Identifier: Apache-2.0
"""The v1model architecture as bmv2's simple_switch executes it."""
