"""Every transport against many networks at once, in two halves: one to train on, one to test with."""
