"""Networks of the experiments in ns-2: scenarios, runs and traces."""
