"""Simulated hardware: the P4 software switch and the models that stand in for the world."""
