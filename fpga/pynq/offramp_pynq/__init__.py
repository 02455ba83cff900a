# SPDX-License-Identifier: Apache-2.0
"""PYNQ drivers of Offramp's FPGA engines; needs the package ``pynq`` and nothing else of Offramp."""
