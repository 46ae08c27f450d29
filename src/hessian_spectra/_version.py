"""The version of the library, said here alone; see :attr:`hessian_spectra.__version__`."""

__version__ = "0.1.0"
