"""The report pages: every figure and claim, with ways to all that is behind them."""

from hessian_papers.report.links import FRONT, STATES, address
from hessian_papers.report.page import INDEX, Alone, Content, build, cards, index, read

__all__ = [
    "FRONT",
    "INDEX",
    "STATES",
    "Alone",
    "Content",
    "address",
    "build",
    "cards",
    "index",
    "read",
]
