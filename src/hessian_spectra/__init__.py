"""Exact and numerical spectra of neural-network Hessians."""
