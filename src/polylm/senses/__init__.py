"""Everything about senses: keys, shares, vectors, what is one at a granularity, words that describe them."""
