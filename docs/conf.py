"""The settings of Sphinx: guides, a gallery that runs, and a reference from the docstrings."""

import sys
from pathlib import Path

import hessian_spectra

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import formula_renderer  # noqa: E402
import reference  # noqa: E402
import showcase  # noqa: E402
import sources  # noqa: E402

project = "hessian-spectra"
version = release = hessian_spectra.__version__
copyright = ""  # the year of the build would make each build another
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
exclude_patterns = ["_build"]

# Unknown names are errors, except those of other packages, whose pages are not at hand, and the
# types in signatures that no room exports.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(collections|matplotlib|numpy|pathlib|scipy|torch)\..*"),
    (r"py:class", r"hessian_(spectra|papers)\..*|ArrayLike"),
]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
napoleon_use_ivar = True
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 180  # of the source, where types have long names
python_use_unqualified_type_names = True
add_module_names = False
default_role = "code"

html_theme = "furo"
html_title = "hessian-spectra"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False


def setup(app):
    """Write the pages that are made, and resolve the names that they link."""
    reference.write(HERE / "reference")
    named = [
        entry
        for room in reference.rooms()
        for names in reference.groups(room).values()
        for entry in sources.entries(room, names)
    ]
    sources.write(HERE / "reference", named)
    showcase.write()
    formula_renderer.setup(app)
    app.connect("autodoc-skip-member", reference.skipped)
    app.connect("autodoc-process-signature", reference.signature)
