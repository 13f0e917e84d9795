"""The consoles for people: the only module that imports rich.

`out()` is stdout: the requested report. `err()` is stderr: progress, warnings, hints. Both are plain text
in a pipe and under NO_COLOR. Lines are wrapped on a terminal, and in a pipe where $COLUMNS is set. `print_json` is the only thing that writes to stdout under `--json`.
Text that came from logs, wheels or recipes goes through `Text` or `escape`, never through markup. What both consoles
write has passed `safe`: no text moves the cursor, colours a line or turns its direction. `print_text` does so on a terminal.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Span, Text

from stackbuild.core.digest import document_text, plain
from stackbuild.core.errors import OutputWriteError, inert, safe
from stackbuild.core.output_style import OUTPUT_STYLE, columns, wraps

if TYPE_CHECKING:
    from rich.live import Live
    from rich.progress import Progress

__all__ = [
    "Console",
    "Group",
    "Indent",
    "SafeConsole",
    "Table",
    "Text",
    "alarm",
    "err",
    "escape",
    "fit_table",
    "forget_consoles",
    "indent",
    "live_region",
    "out",
    "print_json",
    "print_markdown",
    "print_text",
    "progress_bar",
    "same_place",
    "table",
    "wraps",
]  # fmt: skip


WIDE = 240
"""Columns of a table in a pipe."""


@contextmanager
def _writing() -> Iterator[None]:
    """Raises OutputWriteError, or BrokenPipeError where the reader has gone."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputWriteError(error.errno, error.strerror) from None


class SafeConsole(Console):
    """A console that writes no control character, escape sequence or bidi control of a text, whoever made the text.

    Colours and the cursor's moves come from rich's styles and control segments, which are not text.
    """

    def print(self, *objects: Any, **options: Any) -> None:
        """Tables fit, and a word that is longer than a line stays whole: it is a path or an address, which is copied."""
        if any(isinstance(o, Table) for o in objects):
            objects = tuple(fit_table(o, self.width) if isinstance(o, Table) else o for o in objects)
            options.setdefault("soft_wrap", False)  # which would cut the rows that are lines, in a pipe too
        elif self._is_paragraph(objects, options):
            texts = (self.render_str(o, markup=options.get("markup")) if isinstance(o, str) else o for o in objects)
            objects = (Indent(Text(" ").join(texts), 0, Text()),)
        if any(isinstance(o, Indent | Group) for o in objects):
            options = {"crop": False, **options}
        super().print(*objects, **options)

    def _is_paragraph(self, objects: tuple[Any, ...], options: dict[str, Any]) -> bool:
        is_text = bool(objects) and all(isinstance(o, str | Text) for o in objects)
        return is_text and not options.get("soft_wrap", self.soft_wrap) and "end" not in options

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        drawing = _escape(renderable) if isinstance(renderable, Text) else renderable
        for segment in super().render(drawing, options):
            if segment.control:
                yield segment
            elif segment.text.isprintable():
                yield segment if (text := inert(segment.text)) == segment.text else Segment(text, segment.style)
            else:
                yield Segment(safe(segment.text), segment.style)


def _escape(text: Text) -> Text:
    """The text with escapes before it is wrapped, since they take more columns than what they stand for."""
    if text.plain.isprintable():
        return text
    pieces = [safe(c) for c in text.plain]
    starts = [0, *accumulate(map(len, pieces))]
    escaped_text = text.blank_copy("".join(pieces))
    escaped_text.spans = [
        Span(starts[span.start], starts[min(span.end, len(pieces))], span.style) for span in text.spans
    ]
    return escaped_text


class _StrictConsole(SafeConsole):
    """A console whose failed writes reach the caller: rich itself leaves with exit code 1 where the reader has gone."""

    def print(self, *objects: Any, **options: Any) -> None:
        with _writing():
            super().print(*objects, **options)
            self.file.flush()

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, "the reader has gone")


def out() -> Console:
    """The console on stdout. In a pipe lines are as long as they need to be: `grep` and `less -S` want them whole."""
    return _stdout(OUTPUT_STYLE.color)


def err() -> Console:
    """The console on stderr: progress and hints. It is silent under --quiet."""
    return _stderr(OUTPUT_STYLE.color, OUTPUT_STYLE.verbosity < 0)


def alarm() -> Console:
    """The console on stderr for failures and warnings, which --quiet does not silence."""
    return _stderr(OUTPUT_STYLE.color, False)


@cache
def _stdout(color: str) -> Console:
    soft = not wraps(sys.stdout)
    return _StrictConsole(highlight=False, soft_wrap=soft, width=_width(sys.stdout), **_colors(color))


@cache
def _stderr(color: str, quiet: bool) -> Console:
    soft = not wraps(sys.stderr)
    return SafeConsole(
        stderr=True, highlight=False, soft_wrap=soft, width=_width(sys.stderr), quiet=quiet, **_colors(color)
    )


def forget_consoles() -> None:
    """Make the consoles anew at their next use: what they are written to is another terminal or file now."""
    _stdout.cache_clear()
    _stderr.cache_clear()


def _colors(color: str) -> dict[str, Any]:
    """What --color says to rich; in `auto` it looks at the terminal and at NO_COLOR itself."""
    if color == "always":
        return {"force_terminal": True, "no_color": False}
    return {"no_color": True} if color == "never" else {}


def same_place() -> bool:
    """Whether stdout and stderr are one terminal, pipe or file: what is on one of them is seen beside the other."""
    try:
        one, two = os.fstat(sys.stdout.fileno()), os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return (one.st_dev, one.st_ino, one.st_rdev) == (two.st_dev, two.st_ino, two.st_rdev)


def _width(stream: TextIO) -> int | None:
    """$COLUMNS, the terminal's own width, or wide where neither is there. $COLUMNS of 0 or of no number is as if not set."""
    if width := columns():
        return width
    if not stream.isatty():
        return WIDE
    return os.get_terminal_size(stream.fileno()).columns or WIDE if os.environ.get("COLUMNS") else None


def live_region(console: Console, draw: Callable[[], Group]) -> Live:
    """The lines at the end of a terminal that are drawn again and again, and gone at the end."""
    from rich.live import Live

    return Live(get_renderable=draw, console=console, auto_refresh=False, transient=True)


def print_markdown(text: str) -> None:
    """A page's text on stdout: set where lines are wrapped, as it is elsewhere."""
    if not wraps(sys.stdout):
        print_text(text)
        return
    from rich.markdown import Markdown

    marked_text = text if out().is_terminal else _CODE.sub(r"`` \g<0> ``", text)  # where no colour says what is code
    out().print(Markdown(marked_text, hyperlinks=False))


_CODE = re.compile(r"(?<!`)`[^`\n]+`(?!`)")


def progress_bar() -> Progress:
    """A bar on stderr with the time that has gone and the time left; nothing where stderr is not a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    words = TextColumn("{task.description}")
    columns = (words, BarColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    return Progress(*columns, console=err(), transient=True, disable=not err().is_terminal)


@dataclass(frozen=True)
class Indent:
    """A paragraph whose every line begins so many columns in, where lines are wrapped; elsewhere one line."""

    text: Text
    columns: int
    head: Text
    """What stands before the first line, in those columns or wider."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Text]:
        if options.no_wrap:
            yield self.head + self.text
            return
        head = self.head
        for line in _escape(self.text).split("\n", allow_blank=True):
            margin = self.columns + len(line.plain) - len(line.plain.lstrip(" "))
            for number, part in enumerate(line.divide(_breaks(line.plain, options.max_width - self.columns))):
                part.rstrip()
                row = (Text(" " * margin) if number else head) + part
                row.no_wrap, row.overflow = True, "ignore"
                yield row
            head = Text(" " * self.columns)


def _breaks(line: str, width: int) -> list[int]:
    """Where the line is broken: between words alone. What follows begins where the line's first word does."""
    starts, column, margin = [], 0, len(line) - len(line.lstrip(" "))
    for match in _WORD.finditer(line):
        column += cell_len(match[0])
        if column > width and match.start():
            starts.append(match.end() - len(match[0].lstrip(" ")))
            column = margin + cell_len(match[0].lstrip(" "))
    return starts


_WORD = re.compile(r" *[^ ]+")


def indent(text: str | Text, style: str = "", columns: int = 2, head: str = "", head_style: str = "") -> Indent:
    """The paragraph so many columns in, and before its first line the head."""
    whole = text if isinstance(text, Text) else Text(text, style)
    return Indent(whole, columns, Text(f"{head:<{columns}}", head_style))


def fit_table(drawing: Table, width: int) -> Table | Group:
    """The table in that many columns without a broken word: wrapped between words, or each row as lines of its own."""
    cells = [[_text(cell) for cell in column.cells] for column in drawing.columns]
    heads = [_text(column.header) for column in drawing.columns]
    padding = 2 * len(cells)
    most = [
        max((cell_len(line) for t in (head, *rows) for line in t.split("\n")), default=0)
        for head, rows in zip(heads, cells, strict=True)
    ]
    if sum(most) + padding <= width:
        return drawing
    words = [
        max((cell_len(word) for t in (head, *rows) for word in t.split()), default=0)
        for head, rows in zip(heads, cells, strict=True)
    ]
    room = width - padding - sum(words)
    if room < 0 or words[-1] + room < min(most[-1], LEAST_LAST):
        return _stack(drawing, heads, width)
    spare = [all_ - word for all_, word in zip(most, words, strict=True)]
    for column, word, more in zip(drawing.columns, words, spare, strict=True):
        share = min(more, room * more // max(1, sum(spare)))
        column.width = word + share
    return drawing


LEAST_LAST = 24
"""Columns that the last column of a table, mostly a sentence, must have; a narrower terminal gets rows as lines."""


def _text(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def _stack(drawing: Table, heads: list[str], width: int) -> Group:
    """Each row as its first cell, and under it the others with their heads."""
    parts: list[Any] = [] if drawing.title is None else [drawing.title]
    for row in zip(*(column.cells for column in drawing.columns), strict=True):
        named_cells = [(head, cell) for head, cell in zip(heads, row, strict=True) if _text(cell).strip()]
        if not named_cells:
            continue
        first_line = Text(_text(named_cells[0][1]), "bold")
        parts.append(Indent(first_line, 0, Text()))
        for head, cell in named_cells[1:]:
            text = cell if isinstance(cell, Text) else Text(str(cell))
            if not head and parts[-1].text is first_line and first_line.cell_len + text.cell_len + 2 <= width:
                first_line.append("  ").append_text(text)
            else:
                parts.append(indent((Text(f"{head}: ", "dim") if head else Text()).append_text(text)))
    return Group(*parts)


def table(*columns: str, title: str | None = None) -> Table:
    """A plain table: no box, one space of padding, left aligned. Names from files may stand in its heads and title."""
    above = None if title is None else Text(safe(title, keep=""), "table.title")
    drawing = Table(box=None, padding=(0, 2, 0, 0), title=above, title_justify="left", header_style="bold")
    for column in columns:
        drawing.add_column(Text(safe(column, keep="")), overflow="fold")
    return drawing


def print_json(value: Any, schema: str) -> None:
    """Write one JSON document on stdout; `schema` such as `stackbuild.plan/1` names and versions its shape."""
    body = plain(value)
    document = {"schema": schema, **body} if isinstance(body, dict) else {"schema": schema, "items": body}
    print_text(document_text(document, indent=2))


def print_text(text: str) -> None:
    """Write a document on stdout: as it is, in UTF-8, into a pipe or a file; what a terminal can be shown on a terminal.

    Colours (SGR) stay on a terminal, since a compiler's output may be the document.
    """
    with _writing():
        sys.stdout.flush()
        if sys.stdout.isatty():
            sys.stdout.write("".join(s if n % 2 else safe(s) for n, s in enumerate(_COLOUR.split(text))))
        else:
            sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.flush()


def print_bytes(data: bytes) -> None:
    """Write bytes on stdout as they are: for a pipe or a file."""
    with _writing():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()


_COLOUR = re.compile(r"(\x1b\[[0-9;]{0,16}[mK])")
