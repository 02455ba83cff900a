"""Graphs and what is decided about them: load, partition, boundary, blocks, upload order."""
