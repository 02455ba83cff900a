# SPDX-License-Identifier: Apache-2.0
"""Tofino's architecture in machine code."""
