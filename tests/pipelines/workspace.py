"""A copy of the repository in which stages may run."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """This process's environment, with its Python first on the path and W&B silent."""
    scripts = str(Path(sys.executable).parent)
    return os.environ | {"PATH": f"{scripts}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}


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
        """What git sees as changed."""
        return self.run("git", "status", "--short").stdout

    def outputs(self, *folders: str) -> dict[str, bytes]:
        """The content of every file below some folders."""
        return {
            str(file.relative_to(self.path)): file.read_bytes()
            for folder in folders
            for file in sorted((self.path / folder).rglob("*"))
            if file.is_file()
        }


def copy_repository(target: Path) -> Workspace:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    workspace = Workspace(target)
    workspace.run("git", "init", "--quiet")
    workspace.run("git", "add", "--all")
    who = ("-c", "user.name=test", "-c", "user.email=test@localhost")
    workspace.run("git", *who, "commit", "--quiet", "--message", "copy")
    return workspace
