"""The v1model architecture in machine code."""
