"""Layer-wise Hessians beside Kronecker products of their two expectations."""
