"""Whether a W&B server can be worked with, found out before a run depends on it."""

import json
import os
import ssl
import threading
import urllib.error
import urllib.request
from types import ModuleType


def import_wandb() -> ModuleType:
    """The wandb package, imported late: it takes a second, and most stages need none of it.

    Its error reports and usage metrics are off unless the environment asks for them: offline means
    that nothing leaves the machine, and with a dead server they hold up the end of the process.
    """
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    import wandb

    # What the client has to say is said by us, in one line.
    wandb.setup(settings=wandb.Settings(silent=True))
    return wandb


def _ask(url: str, timeout: float) -> str | None:
    """Why the server at ``url`` gives no answer to a GraphQL query, or ``None`` if it does."""
    request = urllib.request.Request(
        f"{url.rstrip('/')}/graphql",
        data=json.dumps({"query": "{ __typename }"}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout):
            return None
    except urllib.error.HTTPError as error:
        with error:
            # Refusing a query without a key is an answer, too.
            return f"HTTP status {error.code}" if error.code >= 500 else None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        # The client has certificates of its own; let it try.
        if isinstance(reason, ssl.SSLError):
            return None
        if isinstance(reason, TimeoutError):
            return f"no answer within {timeout:g} s"
        return getattr(reason, "strerror", None) or str(reason)


def why_unreachable(url: str, timeout: float) -> str | None:
    """Why a W&B server cannot be reached, or ``None`` if it answers.

    Args:
        url: of the server, without a path.
        timeout: in seconds, for everything including the look-up of its name, which has no time
            limit of its own.
    """
    answers: list[str | None] = []
    asking = threading.Thread(target=lambda: answers.append(_ask(url, timeout)), daemon=True)
    asking.start()
    asking.join(timeout + 1)
    return answers[0] if answers else f"no answer within {timeout:g} s"


def why_not_online(timeout: float) -> str | None:
    """Why no run can be started online now, in a few words, or ``None`` if one can.

    Args:
        timeout: in seconds, for the server's first answer.
    """
    wandb = import_wandb()
    url = wandb.setup().settings.base_url
    problem = why_unreachable(url, timeout)
    if problem is not None:
        return f"{url} cannot be reached ({problem})"
    try:
        logged_in = wandb.login(prompt=False, verify=False)
    except wandb.errors.Error as error:
        return first_line(error)
    return None if logged_in else "nobody is logged in (wandb login, or WANDB_API_KEY)"


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its type where it has none."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
