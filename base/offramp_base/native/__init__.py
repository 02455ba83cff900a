# SPDX-License-Identifier: Apache-2.0
"""Machine code from a small part of Python, by LLVM: what the P4 engine, the simulators and the matching run on."""
