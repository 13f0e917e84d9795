"""Fills templates: the one module that imports jinja2.

The environment is sandboxed: a template cannot reach Python's insides. It is strict: a missing value is an error, never
an empty place. What goes into HTML or XML is escaped unless a template says otherwise, and none of ours does. Control
characters, and those that turn the direction of writing, are put there as escapes: HTML's own escaping lets them
through.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, pass_eval_context
from jinja2.nodes import EvalContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from stackbuild.core.errors import Defect, safe
from stackbuild.core.resources import folder

_ESCAPED_ENDINGS = (".html.j2", ".xml.j2", ".svg.j2", ".html", ".xml")


def render(template: str, /, **values: Any) -> str:
    """The template of that path below `templates/`, filled with the values. Raises Defect for a template that is
    wrong."""
    try:
        return _environment().get_template(template).render(values)
    except TemplateError as error:
        raise Defect(f"the template {template}: {type(error).__name__}: {error}", next="report it") from error


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder("templates")),
        undefined=StrictUndefined,
        autoescape=lambda name: name is None or name.endswith(_ESCAPED_ENDINGS),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_printable,
    )


@pass_eval_context
def _printable(context: EvalContext, value: Any) -> Any:
    """What is put into a document that people see; text that is already marked up, and other kinds, are left alone."""
    return safe(value) if context.autoescape and type(value) is str else value
