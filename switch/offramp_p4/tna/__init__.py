# SPDX-License-Identifier: Apache-2.0
"""The Tofino Native Architecture, executed packet by packet, and what a program takes of the chip."""
