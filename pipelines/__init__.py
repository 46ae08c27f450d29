"""The entry points of the DVC stages: read a configuration, call the library, write files."""

import sys
from pathlib import Path

# A queued experiment runs in a copy of the repository: its sources go before the installed ones.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
