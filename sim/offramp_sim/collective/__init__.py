"""Collectives on simulated networks: metrics, dimensions that change speed, jitter between NPUs, training iterations."""
