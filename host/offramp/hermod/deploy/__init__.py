# SPDX-License-Identifier: Apache-2.0
"""A queue plan on the machines that enforce it: P4 switches, SONiC switches, Linux hosts."""
