"""The part of the Hessian that the GGN of language models misses: by operation and weights."""
