"""MAP.md says what is true of paths and of lists; its tables are written by `make map`."""

import re

from tests.map import PAGE, ROOT


def test_the_paths_it_names_exist():
    """Where a name is to be filled in, there is a file that fits."""
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    named = re.findall(r"`((?:conf|src|pipelines|tests)/[^`]*|[\w.]+\.(?:yaml|md|toml))`", PAGE)
    assert len(links) >= 39
    assert named
    for path in {*links, *named}:
        # What a run makes is not there before.
        pattern = re.sub(r"<[^>]+>", "*", path)
        assert any(ROOT.glob(pattern.rstrip("/"))), path


def test_the_lists_it_names_are_those_of_dvc_yaml():
    lists = (ROOT / "dvc.yaml").read_text().partition("    # The lists merged")[0]
    listed = set(re.findall(r"^ +(?:- )?(\w+):(?: &\w+)?$", lists, re.MULTILINE)) - {"vars"}
    places = re.findall(r"\blists?((?:,?\s(?:and )?`\w+`)+)", PAGE)
    assert {name for place in places for name in re.findall(r"`(\w+)`", place)} == listed


def test_the_readme_points_to_it():
    assert "(MAP.md)" in (ROOT / "README.md").read_text()
