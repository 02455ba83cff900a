"""The run-time system of compiled programs, in the subset of Python that becomes machine code."""
