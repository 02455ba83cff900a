# SPDX-License-Identifier: Apache-2.0
"""``offramp cluster``: check and show cluster files, and convert them from and to other programs' files."""
