"""Files of settings that Hydra does not compose."""

from pathlib import Path
from typing import Any

import yaml

from hessian_spectra.files import damaged


def read_yaml(path: Path) -> Any:
    """The content of a YAML file.

    Raises:
        DamagedFileError: it is no YAML; the message says where.
    """
    try:
        return yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise damaged(path, error, f"write it as YAML, or run git checkout {path}") from None
