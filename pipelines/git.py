"""The answers of Git, of the repository here."""

import subprocess


def git(*arguments: str) -> str | None:
    """The output of a command of Git, stripped; ``None`` where it fails, as without a repository.

    Example:
        >>> git("no-such-command") is None
        True
    """
    try:
        done = subprocess.run(("git", *arguments), capture_output=True, check=False)
    except OSError:
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace").strip()
