"""The command ``hessian-spectra``, which is ``python -m hessian_spectra`` as well."""

import argparse
import sys
from collections.abc import Sequence

import hessian_spectra


def _parser() -> argparse.ArgumentParser:
    """The command's options, and its sub-commands, each with the function ``run`` that it calls."""
    parser = argparse.ArgumentParser(prog="hessian-spectra", description=hessian_spectra.__doc__)
    version = f"hessian-spectra {hessian_spectra.__version__}"
    parser.add_argument("--version", action="version", version=version)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: as in a shell; by default those of this process.

    Returns:
        The exit status.
    """
    parser = _parser()
    parser.parse_args(arguments)
    parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())
