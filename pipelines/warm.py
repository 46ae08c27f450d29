"""A process that has loaded other people's packages once, and forks for each stage of one run.

    python -m pipelines.warm SOCKET

The pipeline runs some hundred and fifty stages, and torch, matplotlib and Hydra take longer to
load than most of them to compute. So `python -m pipelines.reproduce` starts this process, and a
stage that finds its socket in :data:`SOCKET` hands its own run over: folder, arguments, environment
and streams; it passes on the signals that it gets, and ends as the fork ends. Without the process,
or where it does not answer, a stage runs by itself.

Nothing of this project is loaded here, so that each stage runs the code that it finds. A fork is
killed with the stage that handed it over, and all forks with this process.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import socketserver
import sys
import threading
from collections.abc import Mapping
from typing import Any, NoReturn

from pipelines.lifetime import end_with_dvc, share_life

# Names the socket in the environment of stages; the package looks for it, see its __init__.
SOCKET = "WARM_STAGES"
# What stages load; scipy.stats loads all of scipy that they need, and xarray numpy.
PACKAGES = (
    "torch",
    # What torch itself loads with the first product and the first optimiser.
    "torch.fx.experimental.symbolic_shapes",
    "torch._dynamo",
    "tqdm",
    "hydra",
    "jaxtyping",
    "scipy.stats",
    "h5netcdf",
    "xarray",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "transformers",
)
# What starts other processes, and minds their life and death itself.
NOT_HANDED_OVER = ("pipelines.reproduce", "pipelines.warm")
# The largest request: arguments and environment.
LARGEST = 2**17
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STREAMS = (0, 1, 2)


def _end(status: int) -> NoReturn:
    """End this process as another ended: with its exit code, or by its signal."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)


def hand_over() -> None:
    """Have this run of ``python -m`` made by the warm process, and end as it ends.

    Returns only where nothing answers: then this process does its work itself.
    """
    module, *arguments = sys.orig_argv[sys.orig_argv.index("-m") + 1 :]
    if module in NOT_HANDED_OVER:
        return
    path = os.environ.pop(SOCKET)
    end_with_dvc()
    request = {
        "module": module,
        "arguments": arguments,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": sys.path,
    }
    message = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        # A signal that comes while the fork begins waits until it can be passed on.
        unblocked = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
        try:
            server.connect(path if len(message) <= LARGEST else "")
            socket.send_fds(server, [message], STREAMS)
            if not server.recv(1):
                return
            for number in PASSED_ON:
                signal.signal(number, lambda number, _: server.send(bytes([number])))
        except OSError:
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unblocked)
        answer = server.recv(LARGEST)
    # No answer: the warm process is gone, and the fork with it.
    _end(int(answer) if answer else signal.SIGKILL)


def _run(request: Mapping[str, Any], streams: list[int]) -> None:
    """Be the process that handed its run over, as far as its run can tell."""
    os.setsid()
    share_life(signal.SIGKILL)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.path[:] = request["path"]
    for given, own in zip(streams, STREAMS, strict=True):
        os.dup2(given, own)
        os.close(given)
    # What goes to a terminal is seen line by line; errors always are.
    for stream, lines in ((sys.stdout, sys.stdout.isatty()), (sys.stderr, True)):
        stream.reconfigure(line_buffering=lines)  # type: ignore[union-attr]
    for name in [name for name in sys.modules if name.partition(".")[0] == "pipelines"]:
        del sys.modules[name]
    sys.argv[:] = [request["module"], *request["arguments"]]
    runpy.run_module(request["module"], run_name="__main__", alter_sys=True)


def _be(request: Mapping[str, Any], streams: list[int]) -> NoReturn:
    """Run, and end, as a process does."""
    code: object = 1
    try:
        _run(request, streams)
        code = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    if isinstance(code, str):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


class Keeper(socketserver.BaseRequestHandler):
    """A process between a stage and its fork: signals go one way, and how it ended the other."""

    server: "Server"

    def handle(self) -> None:
        """Fork, and wait for the end."""
        self.server.socket.close()
        share_life(signal.SIGKILL)
        # Whoever asked may be gone by now, or go.
        with contextlib.suppress(OSError, ValueError):
            message, streams, *_ = socket.recv_fds(self.request, LARGEST, len(STREAMS))
            request, fork = json.loads(message), os.fork()
            if not fork:
                self.request.close()
                _be(request, streams)
            threading.Thread(target=self._heed, args=(fork,), daemon=True).start()
            self.request.send(b"+")
            _, status = os.waitpid(fork, 0)
            self.request.send(str(status).encode())

    def _heed(self, fork: int) -> None:
        """Pass on the signals that the stage gets, and its end."""
        with contextlib.suppress(OSError):
            while number := self.request.recv(1):
                os.kill(fork, number[0])
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(fork, signal.SIGKILL)


class Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """Forks for each stage that connects."""

    socket_type = socket.SOCK_SEQPACKET
    request_queue_size = 128


def main(path: str) -> None:
    """Load the packages, and answer at ``path``."""
    with Server(path, Keeper) as server:
        for name in PACKAGES:
            importlib.import_module(name)
        # What is loaded stays: no fork needs to look through it for garbage, which would copy it.
        gc.freeze()
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
