"""Which Kronecker factors come near a layer's Hessian, and when."""
