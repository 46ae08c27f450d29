"""The report page: every figure and claim, with ways to all that is behind them."""

from hessian_papers.report.page import build

__all__ = ["build"]
