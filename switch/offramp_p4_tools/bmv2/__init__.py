# SPDX-License-Identifier: Apache-2.0
"""bmv2's JSON: programs of ours written for bmv2 to execute, and JSON of p4c read for our engines to execute.

The format is that of bmv2's ``docs/JSON_format.md``, version 2; ``write`` and ``read`` know nothing of each other.
"""
