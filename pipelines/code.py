"""Stage code: which code each study, each kind of figure and each kind of ensemble runs.

For each kind it lists the files of the modules that the kind imports, however indirectly, with a
digest of each. The stages that run a kind depend on its list, not on all these files and folders:
a module that the kind does not import makes nothing run again, and dvc.lock, which DVC writes anew
after each stage, stays short.
"""

import hashlib

from hessian_spectra.fan_out.keys import code_of, root_of
from hessian_spectra.results import write_bytes
from pipelines.schema import kinds
from pipelines.stage import Context, run

READS: list[str] = []

PACKAGES = ("ensembles", "figures", "studies")

# They carry values from one place to another and compute none: a change of theirs alone runs
# nothing again.
CARRIERS = ("data/base.py", "results.py", "validation.py", "work.py")


def text_of(package: str, kind: str) -> str:
    """The files behind a kind, one a line, each after the digest of its content."""
    module = f"hessian_spectra.{package}.{kind}"
    library = root_of(module) / "hessian_spectra"
    files = {file.relative_to(library).as_posix(): file for file in code_of(module).files}
    digests = {
        name: hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for name, file in sorted(files.items())
        if name not in CARRIERS
    }
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


def code(context: Context) -> None:
    """Write ``results/code/<package>/<kind>.txt``."""
    for package in PACKAGES:
        for kind in kinds(package):
            path = context.results / "code" / package / f"{kind}.txt"
            write_bytes(path, text_of(package, kind).encode())


if __name__ == "__main__":
    run(code, READS)
