"""Errors that a user can act on: one clear line, no traceback, exit code 2."""

from __future__ import annotations


class OfframpError(Exception):
    """Bad input or a missing resource; the message names the file, field or flag and what was expected."""
