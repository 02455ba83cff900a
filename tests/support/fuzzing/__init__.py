# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of everything that reads what others wrote: targets, the process that runs them, and mutations of input."""
