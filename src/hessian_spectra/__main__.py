"""The command ``hessian-spectra``, which is ``python -m hessian_spectra`` as well."""

import argparse
import sys
from collections.abc import Sequence

import hessian_spectra
from hessian_spectra.inspection import command


def _parser() -> argparse.ArgumentParser:
    """The command's options, and its sub-commands, each with the function ``run`` that it calls."""
    parser = argparse.ArgumentParser(prog="hessian-spectra", description=hessian_spectra.__doc__)
    version = f"hessian-spectra {hessian_spectra.__version__}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    inspect = commands.add_parser("inspect", help="the curvature of a network of one's own")
    command.add_arguments(inspect)
    inspect.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: as in a shell; by default those of this process.

    Returns:
        The exit status.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if "run" in options:
        return options.run(options)
    parser.print_help()
    return 0


if __name__ == "__main__":
    sys.exit(main())
