"""Experiments with real programs over the simulated network."""
