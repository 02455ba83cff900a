"""Errors that a user can act on: one clear line, no traceback, exit code 2."""

from __future__ import annotations


class OfframpError(Exception):
    """Bad input or a missing resource; the message names the file, field or flag and what was expected."""


def not_restored(cause: BaseException, error: BaseException) -> OfframpError:
    """The error where something failed and undoing it did too."""
    return OfframpError(f"{cause}; and what was there before could not be restored: {error}")
