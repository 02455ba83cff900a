"""Fuzzing of everything that reads what others wrote: targets, the process that runs them, and mutations of input."""
