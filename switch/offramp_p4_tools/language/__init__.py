# SPDX-License-Identifier: Apache-2.0
"""A language server for P4: what editors ask about programs, answered by the switch's own front end."""
