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

# They carry values from one place to another and compute none: a change of theirs alone runs
# nothing again.
CARRIERS = ("data/base.py", "results.py", "validation.py", "work.py")


def text_of(name: str) -> str:
    """The files behind a module, one a line, each after the digest of its content."""
    module = f"hessian_spectra.{name}"
    library = root_of(module) / "hessian_spectra"
    files = {file.relative_to(library).as_posix(): file for file in code_of(module).files}
    digests = {
        name: hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for name, file in sorted(files.items())
        if name not in CARRIERS
    }
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


def code(context: Context) -> None:
    """Write ``results/code/networks/<kind>.txt`` and ``results/code/<kind>/{study,figure}.txt``."""
    folder = context.results / "code"
    lists = {f"networks/{kind}": name for kind, name in kinds("networks").items()}
    for kind, name in kinds("studies").items():
        lists |= {f"{kind}/{part}": f"{name}.{part}" for part in ("study", "figure")}
    for path, name in lists.items():
        write_bytes(folder / f"{path}.txt", text_of(name).encode())


if __name__ == "__main__":
    run(code, READS)
