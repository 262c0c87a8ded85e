"""How the documentation is built: ``make docs`` writes it to out/docs, with warnings as errors, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from visibility_aware_edge_ldp import __version__

project = "VA-Edge-LDP"
author = "The VA-Edge-LDP authors"
project_copyright = "The VA-Edge-LDP authors, MIT licence"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "theorems", "notebooks", "command_line", "offline"]
exclude_patterns = ["_ext"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
numpydoc_show_class_members = False
add_module_names = False

# Two hyphens are an option's, not a dash.
smartquotes = False

# Reads the examples as they stand; the outputs below "console" lines are not shell code.
highlight_language = "none"

html_theme = "furo"
html_title = "VA-Edge-LDP"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
