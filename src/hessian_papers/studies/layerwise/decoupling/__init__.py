"""How near layer-wise Hessians are to Kronecker products of their two expectations."""
