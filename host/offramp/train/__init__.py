"""Full-graph GNN training by several workers, with interchangeable ways of carrying boundary features."""
