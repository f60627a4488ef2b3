"""The same networks in ns-2: its scenarios, runs and traces."""
