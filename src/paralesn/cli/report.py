"""The command that shows what is on record, as a page."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from paralesn.cli.shared import Json, app, failing, folder, picture, print_json, say, stderr


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
    json: Json = False,
) -> None:
    """Write a page of all tables and figures, from records alone; nothing is run."""
    from paralesn.paper.tables import MAIN
    from paralesn.report import build, comparison, stored
    from paralesn.report.sections.compare import scores_of

    folder(out)
    with failing():
        found = build.findings(stored.load(records))
        made = build.sections(found)
        page = build.write(found, made, out)
    console, scores = stderr(), scores_of(found)
    ranked = comparison.ranking(scores, MAIN)
    if ranked is not None and ranked.cliques is not None:
        draw = partial(comparison.draw, scores, MAIN)
        picture(console, out / "critical-difference.png", draw)
    for section in made:
        if section.missing:
            say(console, f"Left out: {section.title}. {section.missing}")
    if json:
        print_json(build.data(made) | {"page": str(page)})
    else:
        typer.echo(f"Report: {page.resolve().as_uri()}")
