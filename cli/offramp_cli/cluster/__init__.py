# SPDX-License-Identifier: Apache-2.0
"""``offramp cluster``: cluster files checked, shown, made of other programs' files and written as such."""
