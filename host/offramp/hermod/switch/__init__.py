# SPDX-License-Identifier: Apache-2.0
"""Hermod's switch program: what to write into it, and its counters."""
