# SPDX-License-Identifier: Apache-2.0
"""TorchGT (Zhang, thesis, chapter 4): graph transformers on long sequences, split by heads over ranks."""
