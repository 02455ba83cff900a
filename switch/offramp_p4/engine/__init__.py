# SPDX-License-Identifier: Apache-2.0
"""Execution of P4 programs: the intermediate representation compiled to Python functions on flat memory."""
