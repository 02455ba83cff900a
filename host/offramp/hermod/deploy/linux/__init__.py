# SPDX-License-Identifier: Apache-2.0
"""A plan on the egress of a Linux interface, with tc(8)."""
