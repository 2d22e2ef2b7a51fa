"""How good are the senses: the test sets of the field, their scorers, and baselines beside every result."""
