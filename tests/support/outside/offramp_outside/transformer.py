# SPDX-License-Identifier: Apache-2.0
"""A graph transformer: one narrow layer with positions in place of a bias."""

from offramp.torchgt.settings import Transformer

narrow = Transformer(layers=1, hidden=8, heads=2, biased=False)
