"""Execution of P4 programs: the intermediate representation compiled to Python functions on flat memory."""
