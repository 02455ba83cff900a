# SPDX-License-Identifier: Apache-2.0
"""Ports of a running switch and the loop that moves frames between them and the pipeline."""
