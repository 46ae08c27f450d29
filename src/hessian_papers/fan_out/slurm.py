"""Jobs of a SLURM cluster."""

import collections
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

import submitit

from hessian_papers.fan_out.launcher import LARGEST_ARRAY, FanOutError, Launcher
from hessian_papers.fan_out.ledger import Job, Ledger
from hessian_papers.fan_out.worker import Chunk
from hessian_spectra.validation import require

COMMANDS = ("sbatch", "squeue", "scancel", "srun")
# How long a controller that is being restarted is waited for, in seconds.
ANSWER_SECONDS = 60.0


def _exports(variables: Mapping[str, str]) -> list[str]:
    # In the job's script: some sites do not pass the environment of sbatch on.
    return [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]


class Slurm:
    """Jobs of the SLURM cluster that this machine submits to."""

    # The longest time between two looks at the jobs, in seconds.
    patience = 10.0
    # How many jobs run or wait at once.
    most = LARGEST_ARRAY
    # What it has to say about the jobs, in a few words.
    status = ""

    def __init__(self, launcher: Launcher, ledger: Ledger, variables: Mapping[str, str]) -> None:
        missing = [command for command in COMMANDS if shutil.which(command) is None]
        what = "a machine that has SLURM's commands for slurm (or choose local)"
        require(not missing, "cluster", what, f"no {', '.join(missing)}")
        self._launcher = launcher
        self._ledger = ledger
        self._parameters = self._checked(variables)

    def _checked(self, variables: Mapping[str, str]) -> dict[str, Any]:
        options = dict(self._launcher.options)
        known = submitit.SlurmExecutor._valid_parameters()
        unknown = sorted(set(options) - known)
        what = f"names among {', '.join(sorted(known))}"
        require(not unknown, "options", what, ", ".join(unknown))
        setup = options.pop("setup", None) or []
        parameters: dict[str, Any] = {
            "time": self._launcher.minutes,
            # A signal goes to the job well before its time is over, so that it can be put back.
            "signal_delay_s": min(90, 15 * self._launcher.minutes),
            "array_parallelism": self._launcher.workers_at_once,
            "setup": [*setup, *_exports(variables)],
        }
        if self._launcher.gpus:
            parameters["gpus_per_node"] = self._launcher.gpus
        return parameters | options

    def submit(self, chunks: Sequence[Chunk]) -> list[Job]:
        """Put an array of jobs into the queue, one per chunk."""
        jobs = self._ledger.new([chunk.keys for chunk in chunks])
        folder = jobs[0].folder
        executor = submitit.SlurmExecutor(folder, max_num_timeout=self._launcher.retries)
        executor.update_parameters(job_name=folder.name, **self._parameters)
        try:
            executor.submit_array(list(chunks))
        except submitit.core.utils.FailedJobError as error:
            shutil.rmtree(folder, ignore_errors=True)
            said = " ".join(str(error).split())
            raise FanOutError(f"SLURM refused the jobs: {said}") from None
        return jobs

    def living(self, jobs: Sequence[Job]) -> set[str]:
        """The names of those that run or wait, by the queue itself.

        Not by the accounts of past jobs, which many clusters do not keep. If the controller does
        not answer, all are taken to live.
        """
        if not jobs:
            return set()
        names = ",".join(sorted({job.folder.name for job in jobs}))
        command = ["squeue", "--noheader", "--array", f"--name={names}", "--format=%i|%j|%t|%r"]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=ANSWER_SECONDS, check=True
            )
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            self.status = f"squeue does not answer ({' '.join(str(said).split())})"
            return {job.name for job in jobs}
        return self._read(done.stdout)

    def _read(self, listed: str) -> set[str]:
        result = set()
        reasons: collections.Counter[str] = collections.Counter()
        for line in listed.splitlines():
            number, name, state, reason = line.split("|", 3)
            if state == "CG":
                continue  # its processes have ended, or are being ended
            _, _, index = number.partition("_")
            result.add(f"{name}/{index or 0}")
            if state == "PD":
                reasons[reason] += 1
        waiting = [f"{count} waiting ({reason})" for reason, count in reasons.most_common()]
        self.status = ", ".join(waiting)
        return result

    def cancel(self, jobs: Sequence[Job]) -> None:
        """Cancel jobs, and those that were submitted with them, whether they run or wait."""
        for name in sorted({job.folder.name for job in jobs}):
            subprocess.run(["scancel", f"--name={name}"], capture_output=True, check=False)
