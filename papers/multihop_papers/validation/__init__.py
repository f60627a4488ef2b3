"""Experiments that compare the simulator with theory, other programs and the literature."""
