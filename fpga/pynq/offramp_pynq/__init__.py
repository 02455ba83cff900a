# SPDX-License-Identifier: Apache-2.0
"""Drivers of Offramp's FPGA engines, for PYNQ and for XRT; needs NumPy, and ``pynq`` or ``pyxrt``."""
