# SPDX-License-Identifier: Apache-2.0
"""The run-time system of compiled programs, in the subset of Python that becomes machine code."""
