# SPDX-License-Identifier: Apache-2.0
"""A debugger for P4 programs on the Python engine, and the Debug Adapter Protocol for editors.

A debugged switch runs other code: :mod:`~offramp_p4_tools.debug.generator` writes a call before each statement, which
returns at once unless a breakpoint or a step ends there. What is held then is the engine's own thread; its packet is
read and written by the thread of the client.
"""
