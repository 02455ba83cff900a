# SPDX-License-Identifier: Apache-2.0
"""The part of the run-time system that only PSA and PNA programs need."""
