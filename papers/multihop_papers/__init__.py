"""Experiments: one file of declarations for each paper or subject, and what runs and reports them."""
