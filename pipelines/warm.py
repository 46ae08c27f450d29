"""A process that has loaded other people's packages once, and forks for each stage of one run.

    python -m pipelines.warm SOCKET

The pipeline runs some hundred and eighty stages, and torch, matplotlib and Hydra take longer to
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
import selectors
import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from pipelines.lifetime import end_with_dvc, share_life

# Names the socket in the environment of stages; the package looks for it, see its __init__.
SOCKET = "WARM_STAGES"
# What stages load, in the order in which they do.
PACKAGES = (
    "numpy",
    "torch",
    # What torch itself loads with the first product and the first optimiser.
    "torch.fx.experimental.symbolic_shapes",
    "torch._dynamo",
    "yaml",
    "tqdm",
    "hydra",
    "jaxtyping",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.special",
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


def is_possible() -> bool:
    """Whether this system tells a process when its forks end, and ends them with it."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


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
    # What is sent before the fork is there waits until it is.
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    request = {
        "module": module,
        "arguments": arguments,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "path": sys.path,
    }
    message = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
        try:
            server.connect(path if len(message) <= LARGEST else "")
            socket.send_fds(server, [message], STREAMS)
            fork = int(server.recv(LARGEST))
        except (OSError, ValueError):
            signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
            return

        def passed_on(number: int, _: FrameType | None) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(fork, number)

        for number in PASSED_ON:
            signal.signal(number, passed_on)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
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


class Server:
    """Forks for each stage that connects.

    Args:
        path: of the socket.
    """

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(str(path))
        self._listener.listen()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def serve(self) -> None:
        """Answer until this process is ended."""
        while True:
            # One event at a time: what it does may end what the next one is about.
            key, _ = self._selector.select()[0]
            key.data()

    def _accept(self) -> None:
        stage, _ = self._listener.accept()
        streams: list[int] = []
        # Whoever asked may be gone by now.
        with contextlib.suppress(OSError, ValueError):
            message, streams, *_ = socket.recv_fds(stage, LARGEST, len(STREAMS))
            self._fork(json.loads(message), streams, stage)
        for stream in streams:
            os.close(stream)

    def _fork(self, request: Mapping[str, Any], streams: list[int], stage: socket.socket) -> None:
        number = os.fork()
        if number == 0:
            self._selector.close()
            self._listener.close()
            stage.close()
            self._be(request, streams)
        ended = os.pidfd_open(number)
        register, readable = self._selector.register, selectors.EVENT_READ
        register(ended, readable, lambda: self._ended(number, ended, stage))
        register(stage, readable, lambda: self._left(number, stage))
        stage.send(str(number).encode())

    @staticmethod
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

    def _ended(self, number: int, ended: int, stage: socket.socket) -> None:
        _, status = os.waitpid(number, 0)
        self._selector.unregister(ended)
        os.close(ended)
        with contextlib.suppress(KeyError):
            self._selector.unregister(stage)
        with contextlib.suppress(OSError):
            stage.send(str(status).encode())
        stage.close()

    def _left(self, number: int, stage: socket.socket) -> None:
        """The stage is gone, of which its fork does not know."""
        self._selector.unregister(stage)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(number, signal.SIGKILL)


def main(path: Path) -> None:
    """Load the packages, and answer at ``path``."""
    server = Server(path)
    for name in PACKAGES:
        importlib.import_module(name)
    # What is loaded stays: no fork needs to look through it for garbage, which would copy it.
    gc.freeze()
    server.serve()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
