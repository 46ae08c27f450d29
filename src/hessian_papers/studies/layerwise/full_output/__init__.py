"""The full Hessian's top, from the second derivative by the outputs of all layers."""
