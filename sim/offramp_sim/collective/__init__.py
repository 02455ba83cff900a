"""Collectives on simulated networks: metrics, changing speeds, jitter between NPUs, training iterations."""
