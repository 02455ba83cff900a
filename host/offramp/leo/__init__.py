# SPDX-License-Identifier: Apache-2.0
"""LEO: an application's dataflow written once, run over the CPU, FPGA and smartNIC paths that a host has."""
