"""Kernel launches `kernel<<<grid, block, bytes, stream>>>(…)` as calls of `hipLaunchKernelGGL`."""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.hipify.edits import Edit
from stackbuild.hipify.scan import arguments, back_space, is_name_char, skip_space
from stackbuild.hipify.view import View
from stackbuild.report import Finding, Severity

BY = "launch"


def offsets(code: str) -> Iterator[int]:
    """Where `<<<` opens a launch: exactly three signs, so that a conflict marker is none."""
    at = code.find("<<<")
    while at >= 0:
        end = at + 3
        if not code.startswith("<", end) and not (at and code[at - 1] == "<"):
            yield at
        while code.startswith("<", end):
            end += 1
        at = code.find("<<<", end)


def to_calls(view: View) -> tuple[list[Edit], list[Finding]]:
    """The edits that make every launch a call, and a finding for each that cannot be read."""
    edits: list[Edit] = []
    findings: list[Finding] = []
    for at in offsets(view.code):
        made = _one(view.code, at)
        if made is None:
            findings.append(_unreadable(view, at))
        else:
            edits += made
    return edits, findings


def _one(code: str, open_at: int) -> list[Edit] | None:
    kernel = _kernel(code, open_at)
    found = _configuration(code, open_at)
    if kernel is None or found is None:
        return None
    spans, close_at = found
    call_at = skip_space(code, close_at + 3)
    if not 2 <= len(spans) <= 4 or not code.startswith("(", call_at):
        return None
    templated = "," in code[kernel[0] : kernel[1]]
    edits = [Edit(kernel[0], kernel[0], "hipLaunchKernelGGL(" + "HIP_KERNEL_NAME(" * templated, BY, "kernel_launch")]
    edits.append(Edit(kernel[1], spans[0][0], ")" * templated + ", dim3(", BY))
    edits.append(Edit(spans[0][1], spans[1][0], "), dim3(", BY))
    edits.append(Edit(spans[1][1], spans[1][1], ")", BY, closes=True))
    edits += [Edit(spans[-1][1], spans[-1][1], ", 0", BY)] * (4 - len(spans))
    empty = code.startswith(")", skip_space(code, call_at + 1))
    edits.append(Edit(spans[-1][1], call_at + 1, "" if empty else ", ", BY))
    return edits


def _configuration(code: str, open_at: int) -> tuple[list[tuple[int, int]], int] | None:
    """The spans between `<<<` and `>>>`, and where that is."""
    close_at = code.find(">>>", open_at)
    while close_at >= 0:
        inside = f"({code[open_at + 3 : close_at]})"
        if (found := arguments(inside, 0)) is not None and found[1] == len(inside) - 1:
            shift = open_at + 2
            return [(start + shift, end + shift) for start, end in found[0]], close_at
        close_at = code.find(">>>", close_at + 1)
    return None


def _kernel(code: str, open_at: int) -> tuple[int, int] | None:
    """The span of the kernel's name with its namespaces and template arguments, before the `<<<`."""
    end = at = back_space(code, open_at)
    if at and code[at - 1] == ">":
        opened = _template_start(code, at)
        if opened is None:
            return None
        at = back_space(code, opened)
    elif at and code[at - 1] == ")":
        return _bracketed(code, at), end
    start = at
    while start and (is_name_char(code[start - 1]) or code.endswith(("::", ".", "->"), 0, start)):
        start -= 2 if code.endswith(("::", "->"), 0, start) else 1
    return (start, end) if start < at else None


def _bracketed(code: str, end: int) -> int:
    """Where the bracket that ends before `end` opens; `end` itself where it does not."""
    depth = 0
    for at in range(end - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return end


def _template_start(code: str, end: int) -> int | None:
    """Where the `<` stands whose `>` ends before `end`."""
    depth = brackets = 0
    for at in range(end - 1, max(-1, end - 4000), -1):
        char = code[at]
        brackets += {")": 1, "(": -1}.get(char, 0)
        if char in ";{}":
            return None
        if brackets == 0 and char == ">" and code[at - 1] != "-":
            depth += 1
        elif brackets == 0 and char == "<":
            depth -= 1
            if depth == 0:
                return at
    return None


def _unreadable(view: View, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-LAUNCH-UNREADABLE",
        Severity.WARNING,
        "a launch whose kernel or configuration cannot be told apart",
        "it was left as it is: HIP's compiler reads <<<>>> too",
        "write the configuration with balanced brackets, or leave it",
    )
