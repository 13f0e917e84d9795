"""Fills templates: the one module that imports jinja2.

Sandboxed (a template cannot reach Python's insides), strict (a missing value is an error, never an empty place), and
everything put into HTML or XML is escaped unless a template says otherwise; none of ours does.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from stackbuild.data import folder
from stackbuild.errors import Defect

_ESCAPED = (".html.j2", ".xml.j2", ".svg.j2", ".html", ".xml")


def render(template: str, /, **values: Any) -> str:
    """The template of that path below `templates/`, filled with the values. Raises Defect for a template that is wrong."""
    try:
        return _environment().get_template(template).render(values)
    except TemplateError as error:
        raise Defect(f"the template {template}: {type(error).__name__}: {error}", next="report it") from error


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder("templates")),
        undefined=StrictUndefined,
        autoescape=lambda name: name is None or name.endswith(_ESCAPED),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
