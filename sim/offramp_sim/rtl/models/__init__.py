"""What stands around an engine in simulation: clock, streams, memory. Imported in the simulator's process."""
