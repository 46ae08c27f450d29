"""The version of the library, said here alone; see :attr:`hessian_spectra.__version__`."""

__version__ = "0.1.0"
# Its day.
__date__ = "2026-11-25"
