"""The report page: one self-contained HTML file with every figure, claim and symbol."""

from hessian_spectra.report.page import build

__all__ = ["build"]
