"""A copy of the repository in which stages may run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A chain and a training that are quick.
KEPT = {"cracking-fig1", "poster-pair"}
# The configuration has to have networks; no stage trains them.
NETWORKS = {"two-layer-linear"}


def environment() -> dict[str, str]:
    """This process's environment, with its Python first on the path and W&B silent.

    The shell is the plainest one, which a stage has to replace by itself to end with its `dvc`.
    """
    scripts = str(Path(sys.executable).parent)
    plain = {"OMP_NUM_THREADS": "1", "SHELL": "/bin/sh"}
    return os.environ | plain | {"PATH": f"{scripts}:{os.environ['PATH']}"}


def ran(output: str) -> list[str]:
    """The stages that DVC says it ran."""
    return re.findall(r"^Running stage '([^']+)'", output, re.MULTILINE)


class Workspace:
    """A copy of the repository in which stages may run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.path, env=environment(), capture_output=True, text=True, timeout=240
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done

    def repro(self, *arguments: str) -> list[str]:
        """The stages that ``dvc repro`` runs, in their order."""
        return ran(self.run("dvc", "repro", *arguments).stdout)

    def commit(self, message: str) -> None:
        """Commit all that is there, if it is not."""
        self.run("git", "add", "--all")
        who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
        self.run("git", *who, "commit", "--quiet", "--allow-empty", "--message", message)

    def changed(self) -> str:
        """The changes that git sees."""
        return self.run("git", "status", "--short").stdout

    def outputs(self, *folders: str) -> dict[str, bytes]:
        """The content of every file below some folders."""
        return {
            str(file.relative_to(self.path)): file.read_bytes()
            for folder in folders
            for file in sorted((self.path / folder).rglob("*"))
            if file.is_file()
        }


def copy_files(target: Path, root: Path = ROOT) -> None:
    """Copy the files of a repository, and nothing of Git."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def copy_repository(target: Path, root: Path = ROOT) -> Workspace:
    copy_files(target, root)
    workspace = Workspace(target)
    workspace.run("git", "init", "--quiet")
    workspace.commit("copy")
    return workspace


def few(conf: Path, *kept: str) -> set[str]:
    """Leave some entries of a configuration alone, and what these read; the names of the others."""
    groups = ("data", "networks", "studies")
    files = {file.stem: file for group in groups for file in (conf / group).rglob("*.yaml")}
    waiting, needed = [*kept], set()
    while waiting:
        needed.add(name := waiting.pop())
        waiting += re.findall(
            r"^(?:data|ensemble): (?!null)([\w-]+)", files[name].read_text(), re.MULTILINE
        )
    cut = {*files} - needed
    lines = (conf / "config.yaml").read_text().splitlines(keepends=True)
    left = [line for line in lines if line.strip().rpartition("/")[2].removeprefix("- ") not in cut]
    (conf / "config.yaml").write_text("".join(left))
    for name in cut:
        files[name].unlink()
    return cut


def cut_down(folder: Path, *further: str) -> None:
    """Leave two studies alone in a copy of the files, and no networks of several studies.

    Args:
        folder: the copy.
        further: studies, networks and data sets that stay as well.

    DVC looks at all stages at each start of its own, and reads and writes the lock of all of them
    for each stage that it runs; and `prepare` makes all data sets, whoever needs them.
    """
    cut = few(folder / "conf", *KEPT, *NETWORKS, *further) | (NETWORKS - {*further})
    lines = (folder / "dvc.yaml").read_text().splitlines(keepends=True)
    kept = [line for line in lines if line.strip().partition(": {")[0] not in cut]
    # The curves of their figures.
    kept = [line for line in kept if not {*line.split("/")[-2:-1]} & cut]
    # A list of which nothing is left, and papers without a study.
    text = re.sub(r"^( .*: &\w+)\n(?!      )", r"\1 {}\n", "".join(kept), flags=re.MULTILINE)
    papers = text.partition("    papers:\n")[2].partition("    #")[0]
    left = [line for line in papers.splitlines(True) if f"paper: {line.split()[1]}}}" in text]
    text = text.replace(papers, "".join(left))
    # The pages of each.
    for line in {*papers.splitlines()} - {*"".join(left).splitlines()}:
        text = re.sub(rf"      - reports/{line.split()[1]}(\.html)?\n", "", text)
    (folder / "dvc.yaml").write_text(text)
    head, *entries = re.split(r"^(?=  \S)", (folder / "dvc.lock").read_text(), flags=re.MULTILINE)
    locked = [entry for entry in entries if entry.partition(":")[0].partition("@")[2] not in cut]
    (folder / "dvc.lock").write_text("".join([head, *locked]))


def smallest(workspace: Workspace, *further: str) -> Workspace:
    """Cut a copy of the repository down, see :func:`cut_down`, and commit that."""
    cut_down(workspace.path, *further)
    workspace.commit("a few studies")
    return workspace
