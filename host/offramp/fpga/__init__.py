# SPDX-License-Identifier: Apache-2.0
"""FPGA engines: where their sources lie, their registers, synthesis, bitstreams and boards."""
