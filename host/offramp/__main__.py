# SPDX-License-Identifier: Apache-2.0
"""``python -m offramp``."""

from offramp.cli import main

main()
