# SPDX-License-Identifier: Apache-2.0
"""Errors that a user can act on: one clear line, no traceback, exit code 2."""

from __future__ import annotations

_LONGEST = 4000  # characters of a message: what a file from outside says is quoted in part


class OfframpError(Exception):
    """Bad input or a missing resource; the message names the file, field or flag and what was expected.

    A message may quote what a stranger wrote: ``str()`` escapes what is not printable, newlines too, and shortens what
    is too long.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class MultilineError(OfframpError):
    """A fault with the lines around it: source with a caret, the end of a log."""

    def __str__(self) -> str:
        return printable(Exception.__str__(self), keep="\n\t")


def first_line(error: Exception) -> str:
    """The first line of a library's error message, or the error's class if the message is empty."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def printable(message: str, keep: str = "") -> str:
    """At most 4,000 characters of ``message``; whatever is not printable is escaped, unless it is in ``keep``."""
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}… ({len(message) - _LONGEST} more characters)"
    if message.isprintable():
        return message
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in message)


def not_restored(cause: BaseException, error: BaseException) -> OfframpError:
    """The error to raise when an operation failed and undoing it failed too."""
    return OfframpError(f"{cause}; and what was there before could not be restored: {error}")
