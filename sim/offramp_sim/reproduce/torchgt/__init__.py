# SPDX-License-Identifier: Apache-2.0
"""TorchGT's figures and tables."""
