"""The error of the GGN's largest eigenvalue, held to the Hessian's, with attention or without."""
