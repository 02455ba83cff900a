"""Source text to syntax tree."""
