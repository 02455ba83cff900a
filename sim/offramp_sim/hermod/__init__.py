"""Hermod on the embedded switch."""
