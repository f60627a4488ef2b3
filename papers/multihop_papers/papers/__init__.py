"""The experiments of the papers, and comparisons across them."""
