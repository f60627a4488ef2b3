"""The experiments of the papers: declarations, one file for each paper, and what runs them."""
