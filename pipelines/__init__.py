"""The entry points of the DVC stages: read a configuration, call the library, write files."""

import os
import sys
from pathlib import Path

# A queued experiment runs in a copy of the repository: its sources go before the installed ones.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

# As `make` has it, before anything loads torch: the bytes of a result depend on the number of
# threads, and on a busy machine those that wait for each other take four times the processor time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A stage of a run that has a warm process is made there, before this one loads anything.
if sys.argv[0] == "-m" and "WARM_STAGES" in os.environ:
    from pipelines.warm import hand_over

    hand_over()
