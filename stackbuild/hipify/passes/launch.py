"""Kernel launches `kernel<<<grid, block, bytes, stream>>>(…)` as calls of `hipLaunchKernelGGL`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.backwards import is_statement, postfix_start
from stackbuild.hipify.cpp.edits import Edit, wrap
from stackbuild.hipify.cpp.scan import REACH, arguments, back_space, call_arguments, skip_space, template_end
from stackbuild.hipify.cpp.source_text import View
from stackbuild.model.findings import Finding, Severity

BY = "launch"


def offsets(code: str) -> Iterator[int]:
    """Where `<<<` opens a launch: exactly three signs, so neither a conflict marker nor `operator<<<` is one."""
    at = code.find("<<<")
    while at >= 0:
        end = at + 3
        if not code.startswith("<", end) and not code.endswith(("<", "operator"), 0, at):
            yield at
        while code.startswith("<", end):
            end += 1
        at = code.find("<<<", end)


def to_calls(view: View, like_hipify: bool = False) -> tuple[list[Edit], list[Finding]]:
    """The edits that make every launch a call, and a finding for each that cannot be read.

    `like_hipify`: as hipify-clang does, with HIP_KERNEL_NAME around each template, and also where the launch is not a statement.
    """
    edits: list[Edit] = []
    findings: list[Finding] = []
    for at in offsets(view.code):
        call = _one(view, at, like_hipify)
        if call is None:
            findings.append(_unreadable(view, at))
        else:
            edits += call
    return edits, findings


def _one(view: View, open_at: int, like_hipify: bool) -> list[Edit] | None:
    """The edits of one launch. None if a part cannot be determined or the launch is not a statement: hipLaunchKernelGGL is one."""
    code = view.code
    kernel, configuration = postfix_start(code, back_space(code, open_at)), _configuration(code, open_at)
    if kernel is None or configuration is None:
        return None
    spans, close_at = configuration
    call_at = skip_space(code, close_at + 3)
    argument_list = arguments(code, call_at)
    if argument_list is None or _DIRECTIVE.search(code, kernel, argument_list[1]):
        return None
    if not like_hipify and not is_statement(code, kernel, argument_list[1] + 1):
        return None
    end = back_space(code, open_at)
    is_named = _bare_comma(code, kernel, end) or (like_hipify and _is_template(view, code[kernel:end]))
    name_wrapping = ("HIP_KERNEL_NAME(", ")") if is_named else ("", "")
    edits = [Edit(kernel, kernel, f"hipLaunchKernelGGL({name_wrapping[0]}", BY, "kernel_launch")]
    grid, block = (("", "") if _is_dim3(code, span) else ("dim3(", ")") for span in spans[:2])
    edits += _gap(view, end, spans[0][0], f"{name_wrapping[1]}, {grid[0]}", (open_at, open_at + 3))
    comma = code.index(",", spans[0][1])
    edits += _gap(view, spans[0][1], spans[1][0], f"{grid[1]}, {block[0]}", (comma, comma + 1))
    if block[1]:
        edits.append(Edit(spans[1][1], spans[1][1], block[1], BY, closes=True))
    for start, stop in spans[2:]:
        edits += wrap(start, stop, "(", ")", BY) if _bare_comma(code, start, stop) else []
    edits += [Edit(spans[-1][1], spans[-1][1], ", 0", BY)] * (4 - len(spans))
    if not argument_list[0] and call_at + 1 < argument_list[1] and view.text[call_at + 1 : argument_list[1]].isspace():
        edits.append(Edit(call_at + 1, argument_list[1], "", BY))
    signs = ((close_at, close_at + 3), (call_at, call_at + 1))
    return edits + _gap(view, spans[-1][1], call_at + 1, ", " if argument_list[0] else "", *signs)


def _is_dim3(code: str, span: tuple[int, int]) -> bool:
    """Whether a span is `dim3(…)` as a whole."""
    if not code.startswith("dim3", span[0]):
        return False
    argument_list = call_arguments(code, span[0] + 4)
    return argument_list is not None and argument_list[1] + 1 == span[1]


def _is_template(view: View, kernel: str) -> bool:
    """Whether a kernel is given template arguments, or is a template of the file."""
    name = re.match(r"\s*(?:\w+\s*::\s*)*(\w+)", kernel)
    if "<" in kernel or name is None:
        return "<" in kernel
    declaration = rf"\btemplate\s*<[^;{{}}()]*>\s*(?:\w+\s*(?:\([^()]*\)\s*)?)*?\b{name[1]}\s*\("
    return re.search(declaration, view.code) is not None


def _gap(view: View, start: int, end: int, new: str, *signs: tuple[int, int]) -> list[Edit]:
    """The edits that put `new` for the signs between two parts; comments between them stay, blanks do not."""
    if view.text[start:end].split() == view.code[start:end].split():
        return [Edit(start, end, new, BY)]
    return [Edit(*sign, "" if i else new, BY) for i, sign in enumerate(signs)]


_UNKNOWN_COUNT = re.compile(r"\b__VA_ARGS__\b|\.\.\.")
_DIRECTIVE = re.compile(r"\n[ \t]*#")


def _configuration(code: str, open_at: int) -> tuple[list[tuple[int, int]], int] | None:
    """The two to four spans between `<<<` and the `>>>` that a `(` follows, and where that is."""
    close_at = code.find(">>>", open_at)
    while 0 <= close_at < open_at + REACH:
        inside = f"({code[open_at + 3 : close_at]})"
        if (argument_list := arguments(inside, 0)) is not None and argument_list[1] == len(inside) - 1:
            shift = open_at + 2
            spans = [(start + shift, end + shift) for start, end in argument_list[0]]
            if (
                2 <= len(spans) <= 4
                and code.startswith("(", skip_space(code, close_at + 3))
                and not _open_template(inside)
            ):
                return None if any(_UNKNOWN_COUNT.search(code, *span) for span in spans) else (spans, close_at)
        close_at = code.find(">>>", close_at + 1)
    return None


def _open_template(inside: str) -> bool:
    """Whether template arguments begin in a text that do not end in it: then its `>>>` was theirs."""
    return any(template_end(inside, m.start()) is None for m in re.finditer(r"(?<=\w)<(?![<=\s])", inside))


def _bare_comma(code: str, start: int, end: int) -> bool:
    """Whether a macro would divide a span at a comma: only round brackets keep it together."""
    depth = 0
    for sign in re.finditer(r"[(),]", code[start:end]):
        depth += {"(": 1, ")": -1}.get(sign.group(), 0)
        if depth == 0 and sign.group() == ",":
            return True
    return False


def _unreadable(view: View, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-LAUNCH-UNREADABLE",
        Severity.WARNING,
        "a launch whose kernel or configuration cannot be told apart, or that is part of an expression",
        "it was left as it is: HIP's compiler reads <<<>>> too",
        "write it as a statement of its own with two to four arguments in balanced brackets, or leave it",
    )
