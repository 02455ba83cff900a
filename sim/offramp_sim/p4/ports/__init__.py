"""Ports of a running switch and the loop that moves frames between them and the pipeline."""
