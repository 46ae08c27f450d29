"""The part of the Hessian that the GGN of language models misses: by weights, loss and product."""
