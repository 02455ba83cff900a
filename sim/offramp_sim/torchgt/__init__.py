# SPDX-License-Identifier: Apache-2.0
"""Measurements of TorchGT's attention on this machine."""
