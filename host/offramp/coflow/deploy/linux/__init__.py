"""A plan on the egress of a Linux interface, with tc(8)."""
