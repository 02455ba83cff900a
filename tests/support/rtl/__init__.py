"""What RTL test benches share; imported in the simulator's process."""
