"""The command ``hessian-spectra inspect package.module:factory``.

Exit status: 0 when every quantity was tried, also if one of them cannot be computed for this
network; 1 when none could be computed; 2 for a factory, an option or a folder that does not do;
3 when the budget ended it; 130 when Ctrl-C did. With 3 and 130 all that was found until then is in
the table, the figure and the file.
"""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Give the parser of the sub-command its options."""
    parser.description = (
        "The curvature of a network's loss: sharpness of the Hessian and of the Gauss-Newton "
        "matrix, the gap between them by operation, top eigenvalues, trace, spectral density, each "
        "layer, the gradient's share in the top space, and the closed forms that apply."
    )
    parser.add_argument(
        "factory",
        metavar="package.module:factory",
        help="a function without arguments that returns (model, loss, data), data a list of "
        "batches (inputs, targets) or a loader; (model, None, batches) of Hugging Face; or a "
        "hessian_spectra.curvature.Problem",
    )
    add = parser.add_argument
    add("--layers", nargs="+", default=[], metavar="GLOB", help="only these layers, one by one")
    add("--k", type=int, default=10, help="how many top eigenvalues (10)")
    add(
        "--budget",
        type=float,
        metavar="MINUTES",
        help="stop so long after the start, with what is there",
    )
    add(
        "--checkpoints",
        nargs="+",
        default=[],
        type=Path,
        metavar="FILE",
        help="state dicts to load one after the other, for one figure and one table of all",
    )
    add("--device", help="bring the model there: cpu, cuda, mps")
    add("--out", type=Path, default=Path("inspection"), metavar="FOLDER", help="(inspection)")
    add("--seed", type=int, default=0, help="of probes and starts (0)")


def run(options: argparse.Namespace) -> int:
    """Run the command.

    Args:
        options: what :func:`add_arguments` parsed.

    Returns:
        The exit status, as the module says.
    """
    try:
        # Torch takes seconds, which the help of the command need not wait for.
        from hessian_spectra.inspection.running import run as inspect

        return inspect(options)
    except KeyboardInterrupt:
        print("hessian-spectra inspect: interrupted before anything was found", file=sys.stderr)
        return 130
