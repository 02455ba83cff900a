# SPDX-License-Identifier: Apache-2.0
"""Measured speed of this machine's links and functions: the performance part of a configuration (section 1.3)."""
