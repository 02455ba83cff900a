# SPDX-License-Identifier: Apache-2.0
"""Compiles a small part of Python to machine code through LLVM: for the P4 engine, simulators and matchings."""
