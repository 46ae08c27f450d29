"""How well the largest eigenvalue of the GGN approximates the Hessian's, with attention or not."""
