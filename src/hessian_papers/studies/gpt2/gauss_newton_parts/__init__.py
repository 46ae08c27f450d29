"""What the GGN of language models misses: by kind of weights, by loss, with which product."""
