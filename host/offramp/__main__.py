# SPDX-License-Identifier: Apache-2.0
"""``python -m offramp``: the command of this installation, which stands above the library in a package of its own."""

import sys
from importlib.metadata import entry_points

commands = entry_points(group="console_scripts", name="offramp")
if not commands:
    sys.exit("offramp: the command line is not installed")
next(iter(commands)).load()()
