# SPDX-License-Identifier: Apache-2.0
"""The portable architectures of P4.org: PSA, as bmv2's psa_switch and its specification have it, and PNA."""
