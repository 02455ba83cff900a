"""The v1model architecture as bmv2's simple_switch executes it."""
