"""Syntax tree to typed, elaborated IR."""
