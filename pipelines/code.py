"""Stage code: which code each kind of networks, of studies and of figures runs, and all claims.

It is the first stage, and reads no configuration.

For each kind it lists the files of the modules that the kind imports, however indirectly, with a
digest of each. The stages that run a kind depend on its list, not on all these files and folders:
a module that the kind does not import makes nothing run again, and dvc.lock, which DVC writes anew
after each stage, stays short.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from hessian_spectra.provenance import code_of, root_of
from hessian_spectra.results import write_bytes
from pipelines.schema import kinds
from pipelines.stage import RESULTS

# They carry values from one place to another and compute none: a change of theirs alone runs
# nothing again.
CARRIERS = ("data/base.py", "results.py", "validation.py", "work.py")


def _read_by(code: Path) -> Iterator[Path]:
    """The tables and texts beside a module that it names."""
    source = code.read_text()
    for suffix in ("csv", "yaml"):
        yield from (data for data in code.parent.glob(f"*.{suffix}") if data.name in source)


def text_of(*names: str, below: tuple[str, ...] = ()) -> str:
    """The files behind some modules, one a line, each after the digest of its content.

    Args:
        names: the modules, without the library's own name.
        below: only files in these folders of the library, what carries values among them; else
            all files that compute.
    """
    files: dict[str, Path] = {}
    for name in names:
        module = f"hessian_spectra.{name}"
        library = root_of(module) / "hessian_spectra"
        found = code_of(module).files
        for file in (*found, *(data for code in found for data in _read_by(code))):
            files[file.relative_to(library).as_posix()] = file
    digests = {
        name: hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for name, file in sorted(files.items())
        if (name.startswith(below) if below else name not in CARRIERS)
    }
    return "".join(f"{digest}  {name}\n" for name, digest in digests.items())


def code(folder: Path) -> None:
    """Write ``<kind>/{computes,draws}.txt``, for all claims ``claims.txt``, for the schema too."""
    data, networks, studies = map(kinds, ("data", "networks", "studies"))
    lists = {f"{kind}/computes": text_of(name) for kind, name in networks.items()}
    lists |= {f"{kind}/computes": text_of(f"{name}.study") for kind, name in studies.items()}
    lists |= {f"{kind}/draws": text_of(f"{name}.figure") for kind, name in studies.items()}
    lists["claims"] = text_of(*(f"{name}.claims" for name in studies.values()))
    configured = (*data.values(), *networks.values(), *(f"{n}.study" for n in studies.values()))
    lists["configured"] = text_of(*configured, below=("data/", "networks/", "studies/"))
    for path, text in lists.items():
        write_bytes(folder / f"{path}.txt", text.encode())


if __name__ == "__main__":
    code(RESULTS / "code")
