"""Hermod's switch program: what to write into it, and its counters."""
