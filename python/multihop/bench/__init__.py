"""A bench for congestion controls: the same 100 networks for each, and a page of the results."""
