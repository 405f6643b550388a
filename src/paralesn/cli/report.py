"""The command that makes a page of everything on record."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from paralesn.cli.application import app, exit_on_error
from paralesn.cli.console import picture, print_json, say, stderr
from paralesn.cli.options import Json, folder

# The command that makes the records of a section, by the section's key.
_COMMANDS = {
    "overview": "paralesn reproduce",
    "regression": "paralesn reproduce",
    "variants": "paralesn reproduce",
    "earlier": "paralesn reproduce earlier",
    "complex": "paralesn reproduce",
    "classification": "paralesn reproduce classification",
    "mnist": "paralesn reproduce mnist",
    "small-mnist": "paralesn reproduce small-mnist",
    "ucr": "paralesn reproduce ucr",
    "long-term": "paralesn reproduce long-term",
    "lra": "paralesn reproduce lra",
    "race": "paralesn race",
    "times": "paralesn reproduce",
    "scaling": "paralesn complexity",
    "digits": "paralesn complexity",
    "universality": "paralesn universality",
    "sensitivity": "paralesn sensitivity narma10",
    "configurations": "paralesn reproduce",
}


@app.command()
def report(
    records: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Files of records, or folders of them. By default results, complexity, "
            "universality, sensitivity and race, where they are."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the page.")] = Path("report"),
    fresh_only: Annotated[
        bool,
        typer.Option(
            "--fresh-only",
            help="Leave out the records that come with the package, which stand "
            "in for what is not on record.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Write a page of all tables and figures, from records alone; nothing is run.

    What you have no records of is shown as we ran it, from records that come with the package.
    """
    from paralesn.paper.catalogue import MAIN
    from paralesn.report import build, comparison, stored
    from paralesn.report.sections.compare import scores_of

    folder(out)
    with exit_on_error():
        try:
            findings = build.gather(stored.load(records, fill=not fresh_only))
        except stored.NoRecordsError as error:
            hint = "`paralesn reproduce` makes some, or name files or folders that hold them"
            raise ValueError(f"{error}: {hint}") from None
        made = build.sections(findings)
        page = build.write(findings, made, out)
    console, scores = stderr(), scores_of(findings)
    ranked = comparison.ranking(scores, MAIN)
    if ranked is not None and ranked.cliques is not None:
        draw = partial(comparison.draw, scores, MAIN)
        picture(console, out / "critical-difference.png", draw)
    for section in made:
        if section.missing:
            command = _COMMANDS.get(section.key)
            hint = f" `{command}` makes it." if command else ""
            say(console, f"Left out: {section.title}. {section.missing}{hint}")
    if json:
        print_json(build.data(made) | {"page": str(page)})
    else:
        typer.echo(f"Report: {page.resolve().as_uri()}")
