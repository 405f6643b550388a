"""How the site is built: ``make docs``. Nothing is fetched, and examples run while it is built."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import figure_style  # noqa: E402
import real_data  # noqa: E402
import repository_links  # noqa: E402

project = "paralesn"
author = "the authors of paralesn"
version = release = version_of("paralesn")
copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "benchmark_tables",
    "command_line",
    "mathml",
    "public_members",
    "real_data",
    "repository_links",
]
exclude_patterns = ["_build", "_generated", "gallery/README.md", "gallery/**/*.ipynb"]
templates_path = ["_templates"]
# Types in docstrings are prose: "name" in "name or list of names" is no link to anything.
suppress_warnings = ["config.cache", "ref.python"]

# -- look ----------------------------------------------------------------------------------------

html_theme = "furo"
html_title = f"paralesn {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_copy_source = False
html_theme_options: dict[str, object] = {
    "light_css_variables": {"color-brand-primary": "#1f5fa8", "color-brand-content": "#1f5fa8"},
    "dark_css_variables": {"color-brand-primary": "#7db3f0", "color-brand-content": "#7db3f0"},
}
if repository_links.ADDRESS:
    html_theme_options["source_repository"] = repository_links.ADDRESS
    html_theme_options["source_branch"] = "main"
    html_theme_options["source_directory"] = "docs/"
pygments_style = "default"
pygments_dark_style = "github-dark"
html_math_renderer = "mathml"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# -- text and docstrings -------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "py:obj"
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

# -- gallery -------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": real_data.runnable(HERE.parent / "examples"),
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("paralesn",),
    "backreferences_dir": "gallery/uses",
    "reference_url": {"paralesn": None},
    "download_all_examples": False,
    "remove_config_comments": True,
    "matplotlib_animations": False,
    "reset_modules": (figure_style.apply, "seaborn"),
    "show_signature": False,
    "write_computation_times": False,  # pages that would load scripts from elsewhere
    "plot_gallery": os.environ.get("PARALESN_DOCS_EXAMPLES", "run") != "skip",
}
