"""A copy of the repository in which stages may run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A chain and a training that are quick, and their data.
KEPT = {"cracking-fig1", "poster-pair", "wedge"}
# The configuration has to have networks; no stage trains them.
NETWORKS = {"two-layer-linear"}


def environment() -> dict[str, str]:
    """This process's environment, with its Python first on the path and W&B silent.

    The shell is the plainest one, which a stage has to replace by itself to end with its `dvc`.
    """
    scripts = str(Path(sys.executable).parent)
    plain = {"OMP_NUM_THREADS": "1", "SHELL": "/bin/sh"}
    return os.environ | plain | {"PATH": f"{scripts}:{os.environ['PATH']}"}


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
    workspace.run("git", "add", "--all")
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    workspace.run("git", *who, "commit", "--quiet", "--message", "copy")
    return workspace


def smallest(workspace: Workspace, *further: str) -> Workspace:
    """Leave two studies alone in a copy of the repository, and no networks of several studies.

    Args:
        workspace: the copy.
        further: data sets that stay as well.

    DVC looks at all stages at each start of its own, however few it is to run; and `prepare` makes
    all data sets, whoever needs them.
    """
    conf = workspace.path / "conf" / "config.yaml"
    listed = re.findall(r"^ {6}- (?:\w+/)?([\w-]+)$", conf.read_text(), re.MULTILINE)
    cut = {*listed} - KEPT - NETWORKS - {*further}
    text = "".join(
        line
        for line in conf.read_text().splitlines(keepends=True)
        if line.strip().rpartition("/")[2].removeprefix("- ") not in cut
    )
    conf.write_text(text)
    lines = (workspace.path / "dvc.yaml").read_text().splitlines(keepends=True)
    kept = [line for line in lines if line.strip().partition(": {")[0] not in cut | NETWORKS]
    # A list of which nothing is left, and papers without a study.
    text = re.sub(r"^( .*: &\w+)\n(?!      )", r"\1 {}\n", "".join(kept), flags=re.MULTILINE)
    papers = text.partition("    papers:\n")[2].partition("    #")[0]
    left = [line for line in papers.splitlines(True) if f"paper: {line.split()[1]}}}" in text]
    text = text.replace(papers, "".join(left))
    (workspace.path / "dvc.yaml").write_text(text)
    workspace.run("git", "add", "--all")
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    workspace.run("git", *who, "commit", "--quiet", "--message", "a few studies")
    return workspace
