"""What lies around the package: metadata, workflows, forms, versions of the site."""

import importlib.util
import json
import re
import subprocess
import sys
import threading
import tomllib
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def module_at(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# -- files with a schema ---------------------------------------------------------------------------


def files_with_schema():
    github = ROOT / ".github"
    forms = [path for path in github.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config"]
    yield from (("github-workflows", path) for path in github.glob("workflows/*.yml"))
    yield from (("github-issue-forms", path) for path in forms)
    yield "github-issue-config", github / "ISSUE_TEMPLATE" / "config.yml"
    yield "dependabot", github / "dependabot.yml"
    yield "citation-file-format", ROOT / "CITATION.cff"


@pytest.mark.parametrize(
    ("schema", "path"), [*files_with_schema()], ids=lambda value: Path(value).name
)
def test_files_are_as_their_schemas_say(schema, path):
    pytest.importorskip("check_jsonschema", reason="needs check-jsonschema, of the extra dev")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_versions_agree():
    version = PROJECT["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_is_that_of_the_readme():
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    names = re.findall(r"family-names: (\w+)", cited)
    assert re.search(r"author\s*=\s*\{(.*)\}", readme)[1].count(" and ") == len(names) - 1
    assert all(f"{name}, " in readme for name in names)


def test_workflows_test_every_python_that_is_declared():
    matrix = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    tested = set(re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", matrix)[1]))
    declared = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}
    assert declared <= tested
    assert PROJECT["requires-python"] == f">={min(declared, key=lambda v: int(v[2:]))}"


def test_floors_are_those_of_pyproject():
    floors = module_at(".ci/floors.py").floors
    found = floors(
        {
            "dependencies": ["numpy>=2.0", "numba>=0.61,<0.69", "plain"],
            "optional-dependencies": {
                "tables": ["Pandas[excel]>=2.2.2"],
                "dev": ["ruff>=0.9"],
                "interop": ["pandas>=2.0"],
            },
        }
    )
    assert found == {"numpy": "2.0", "numba": "0.61", "pandas": "2.2.2"}
    of_project = floors(PROJECT)
    assert {re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]} <= set(of_project)


# -- addresses -------------------------------------------------------------------------------------

hatch_build = module_at("hatch_build.py")
HOME = "https://github.com/someone/paralesn"


@pytest.mark.parametrize(
    "told", [HOME, HOME + ".git", HOME + "/", "git@github.com:someone/paralesn.git", "ssh://git@github.com/someone/paralesn", "https://token@github.com/someone/paralesn.git"]
)  # fmt: skip
def test_an_address_is_written_one_way(told, monkeypatch, tmp_path):
    monkeypatch.setenv("PARALESN_REPOSITORY", told)
    assert hatch_build.repository(tmp_path) == HOME


def test_the_address_comes_from_a_clone_or_from_the_source_distribution(tmp_path, monkeypatch):
    monkeypatch.delenv("PARALESN_REPOSITORY", raising=False)
    assert hatch_build.repository(tmp_path) is None
    (tmp_path / "PKG-INFO").write_text(f"Name: paralesn\nProject-URL: Repository, {HOME}\n\ntext")
    assert hatch_build.repository(tmp_path) == HOME
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    assert hatch_build.repository(tmp_path) == HOME
    subprocess.run([*git, "remote", "add", "origin", "git@codeberg.org:else/where.git"], check=True)
    assert hatch_build.repository(tmp_path) == "https://codeberg.org/else/where"
    assert "Documentation" not in hatch_build.addresses("https://codeberg.org/else/where")


def test_links_of_the_readme_lead_to_the_repository():
    text = (
        "![a](docs/a.png) [b](docs/b.md#c) [![d](docs/d.svg)](docs/e.md) [f](https://e.org) [g](#h)\n"
        '<img src="docs/i.png" alt=""> <source srcset="docs/j.png"> <a href="LICENSE">k</a>\n'
        "pip install git+REPOSITORY"
    )
    raw, blob = f"{HOME}/raw/v1", f"{HOME}/blob/v1"
    assert hatch_build.absolute_links(text, HOME, "v1") == (
        f"![a]({raw}/docs/a.png) [b]({blob}/docs/b.md#c) [![d]({raw}/docs/d.svg)]({blob}/docs/e.md) "
        "[f](https://e.org) [g](#h)\n"
        f'<img src="{raw}/docs/i.png" alt=""> <source srcset="{raw}/docs/j.png"> '
        f'<a href="{blob}/LICENSE">k</a>\npip install git+{HOME}'
    )


def test_no_picture_of_the_readme_is_left_relative():
    text = hatch_build.absolute_links((ROOT / "README.md").read_text(encoding="utf-8"), HOME)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)|\bsrc(?:set)?=\"([^\"]*)", text)
    assert all("".join(picture).startswith("https://") for picture in pictures)
    for path in re.findall(rf"{HOME}/(?:raw|blob)/HEAD/([^)#\"\s]*)", text):
        assert (ROOT / path).exists(), path


# -- versions of the site --------------------------------------------------------------------------


def write_site(folder, *names):
    script = (ROOT / "docs" / "_static" / "versions.js").read_text(encoding="utf-8")
    switch = (ROOT / "docs" / "_templates" / "sidebar" / "variant-selector.html").read_text()
    switch = switch.partition("-#}")[2]
    for name in names:
        for page, up in (("index.html", "./"), ("guide/start.html", "../")):
            if (name, page) == ("0.9", "guide/start.html"):
                continue  # a page that is newer than this version
            path = folder / name / page
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                f'<!doctype html><html data-content_root="{up}"><title>{name}</title>'
                f"{switch}<script>{script}</script></html>"
            )


def test_versions_are_listed_newest_first(tmp_path):
    versions = module_at("docs/versions.py")
    with pytest.raises(SystemExit, match="holds no version of the site"):
        versions.write(tmp_path)
    write_site(tmp_path, "dev")
    versions.write(tmp_path)
    assert 'url=dev/"' in (tmp_path / "index.html").read_text()
    write_site(tmp_path, "0.9", "0.10", "static")
    (tmp_path / "1.0").mkdir()  # nothing in it
    versions.write(tmp_path)
    assert json.loads((tmp_path / "versions.json").read_text()) == [
        {"folder": "0.10", "label": "0.10 (latest)"},
        {"folder": "0.9", "label": "0.9"},
        {"folder": "dev", "label": "dev"},
    ]
    assert 'url=0.10/"' in (tmp_path / "index.html").read_text()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.mark.slow
def test_the_switch_leads_to_the_same_page_of_another_version(tmp_path, browser):
    site = tmp_path / "site"
    write_site(site, "dev", "0.9", "0.10")
    module_at("docs/versions.py").write(site)
    write_site(tmp_path / "alone", "here")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        page = browser.new_page(base_url=f"http://127.0.0.1:{server.server_port}")
        page.goto("/site/dev/guide/start.html")
        switch = page.locator("#version-switch")
        switch.wait_for()
        assert switch.locator("option").all_text_contents() == ["0.10 (latest)", "0.9", "dev"]
        assert switch.input_value() == "dev"
        switch.select_option("0.10")
        page.wait_for_url("**/site/0.10/guide/start.html")
        page.locator("#version-switch").select_option("0.9")  # which has no such page
        page.wait_for_url("**/site/0.9/")
        page.goto("/alone/here/index.html")
        page.wait_for_load_state("networkidle")
        assert page.locator(".version-switch").is_hidden()
        page.close()
    finally:
        server.shutdown()
        server.server_close()
