"""Experiments: declarations, one file for each paper or subject, and the programs that run and report them."""
