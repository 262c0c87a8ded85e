"""``{command} estimate``: what a command takes, read off the program itself when the page is built."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from visibility_aware_edge_ldp.cli import app as program


def command_at(words: list[str]) -> Any:
    """The command that these words lead to; the program itself for none."""
    from typer.main import get_command

    found: Any = get_command(program)
    for word in words:
        found = found.commands[word]
    return found


def options_of(command: Any) -> list[tuple[str, str, str]]:
    """(how it is written, its default in words, what it means) of each argument and option."""
    return [(_written(each), _default(each), each.help or "") for each in command.params if not _is_help(each)]


def _is_help(parameter: Any) -> bool:
    return bool({"--help", "--install-completion", "--show-completion"} & set(parameter.opts))


def _written(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        name = parameter.name.upper()
        return name if parameter.required else f"[{name}]"
    names = " / ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.name.upper().replace('_', '-')}"


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.secondary_opts:
        return f"default: {(parameter.opts if value else parameter.secondary_opts)[0]}"
    return "" if value in (None, False) else f"default: {value}"


class Command(SphinxDirective):
    """The help of one command as a definition list."""

    has_content = False
    optional_arguments = 2

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()  # the program may have changed although the page has not
        command = command_at(self.arguments)
        listed = nodes.definition_list(classes=["options"])
        for written, default, meaning in options_of(command):
            term = nodes.term("", "", nodes.literal(written, written))
            if default:
                term += nodes.inline(default, default, classes=["default"])
            listed += nodes.definition_list_item("", term, nodes.definition("", nodes.paragraph(meaning, meaning)))
        return [nodes.paragraph(command.help, command.help), *([listed] if listed.children else [])]


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("command", Command)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
