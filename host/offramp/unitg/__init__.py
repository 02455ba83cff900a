# SPDX-License-Identifier: Apache-2.0
"""UniTG (Zhang 2026, chapter 5): a language model fine-tuned in the bubbles of a pipelined graph neural network."""
