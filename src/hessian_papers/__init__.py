"""Five papers on the spectrum of the Hessian, reproduced; the first user of the library."""
