"""How `paralesn --help` groups the commands."""

import typer

PANELS = {
    "Your own data": ("forecast", "classify", "predict", "stream", "inspect"),
    "The paper": ("search", "reproduce", "report"),
    "Studies": ("demo", "complexity", "universality", "race", "sensitivity"),
    "Data": ("data",),
}


def arrange(app: typer.Typer) -> None:
    """Put commands into the panels, in their order; a command without a panel comes last."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    order = list(panels)

    def name_of(command: object) -> str:
        callback = getattr(command, "callback", None)
        name = getattr(command, "name", None)
        return str(name if isinstance(name, str) else getattr(callback, "__name__", ""))

    for command in app.registered_commands:
        command.rich_help_panel = panels.get(name_of(command))
    for group in app.registered_groups:
        group.rich_help_panel = panels.get(name_of(group))
    app.registered_commands.sort(
        key=lambda c: order.index(name_of(c)) if name_of(c) in order else len(order)
    )
