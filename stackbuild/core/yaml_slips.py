"""What a person probably did where a text is not YAML: the parser's words and marks, and the lines around them. Pure.

libyaml reports where it gave up, which is often a line below the slip, in the words of its grammar. Each function here
knows one kind of slip by the text itself. A slip is a line and a column, both from 1, the cause and the next step.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from stackbuild.core.text_lines import lines_of

Slip = tuple[int, int, str, str]


@dataclass(frozen=True)
class ParserError:
    """Where the parser gave up and why. Lines and columns count from 0. `start_position` is where the collection begins, if there is one."""

    rows: tuple[str, ...]
    problem: str
    line: int
    column: int
    start_position: tuple[int, int] | None

    @property
    def row(self) -> str:
        return self.rows[self.line] if self.line < len(self.rows) else ""

    @property
    def sign(self) -> str:
        """The character that the parser did not expect."""
        return self.row[self.column : self.column + 1]

    def above(self, line: int) -> int:
        """The last line above that one that has more than a comment; -1 for none."""
        return next((at for at in range(line - 1, -1, -1) if self.rows[at].split("#")[0].strip()), -1)

    def levels(self) -> list[int]:
        """The indentations of the line above and of those that it lies in, the deepest first."""
        depths: list[int] = []
        at = self.above(self.line)
        while at >= 0:
            if not depths or indent(self.rows[at]) < depths[-1]:
                depths.append(indent(self.rows[at]))
            at = self.above(at)
        return depths


def slip_of(text: str, problem: str, at: tuple[int, int], start_position: tuple[int, int] | None) -> Slip | None:
    """The slip behind a parser's error at a line and a column, both from 0; None where none of the usual ones is seen."""
    error = ParserError(lines_of(text), problem, *at, start_position)
    return next((slip for find in _FINDERS if (slip := find(error))), None)


def earlier_slip(text: str, line: int) -> Slip | None:
    """A slip at or above the line where the parser gave up, counted from 0, that is one whatever the parser says."""
    rows = lines_of(text)
    for at, row in enumerate(rows[: line + 1]):
        if at == 0 and row.startswith("%"):
            return 1, 1, f"`{row[:40]}` is a directive", "remove the line: the version of YAML is not asked for"
        if re.match(r" *\t+\s*\S", row):
            return at + 1, row.index("\t") + 1, "the line is indented with a tab", "indent with spaces, not tabs"
        if (begun_text := _BEGUN_TEXT.fullmatch(row)) and not _closes_below(rows, at, begun_text[1]):
            return _not_closed(at, begun_text.start(1), begun_text[1])
    return None


def _closes_below(rows: tuple[str, ...], line: int, sign: str) -> bool:
    """Whether the text that a quote begins on a line ends at the end of a line below it, as one of several lines does."""
    row = next((each for each in rows[line + 1 :] if sign in each), "")
    return bool(row) and not row.split(sign, 1)[1].split("#")[0].strip(" ,]}") and not _BEGUN_TEXT.fullmatch(row)


def indent(row: str) -> int:
    """The spaces that a line begins with."""
    return len(row) - len(row.lstrip(" "))


def _tab(error: ParserError) -> Slip | None:
    tabs = re.match(r" *\t", error.row)
    if not tabs or not ("cannot start any token" in error.problem or "tab character" in error.problem):
        return None
    return error.line + 1, 1, "the line is indented with a tab", "indent with spaces, not tabs"


def _deeper_than_item(error: ParserError) -> Slip | None:
    """A `key: value` below an item of a list, one or more blanks off its mapping."""
    above = error.above(error.line)
    item = re.fullmatch(r"( *)- +([^:#]+?)\s*(?:#.*)?", error.rows[above]) if above >= 0 else None
    pair = _PAIR.match(error.row) or _HEADER.fullmatch(error.row)
    if (
        not item
        or not pair
        or "mapping values are not allowed" not in error.problem
        or indent(error.row) <= len(item[1])
    ):
        return None
    at = error.above(above)
    while at >= 0 and (error.rows[at].lstrip().startswith("- ") or indent(error.rows[at]) > len(item[1])):
        at = error.above(at)
    level = indent(error.rows[at]) if at >= 0 else len(item[1])
    what = f"this line is indented by {indent(error.row)} spaces, below an item of a list that has no keys"
    key = pair[0].strip().split(":")[0]
    return error.line + 1, indent(error.row) + 1, what, f"indent `{key}:` by {level} spaces, as the keys above the list"


def _reserved_sign(error: ParserError) -> Slip | None:
    if "cannot start any token" not in error.problem or not error.sign.strip():
        return None
    value = error.row[error.column :].split(" #")[0].rstrip()
    if share := re.fullmatch(r"%\s*(\d+(?:\.\d+)?)", value):
        return error.line + 1, error.column + 1, "a text cannot begin with `%`", f"write `{share[1]}%`"
    what = f"a text cannot begin with `{error.sign}`"
    return error.line + 1, error.column + 1, what, f"put it into quotes: {_quote(value)}"


def _open_quote(error: ParserError) -> Slip | None:
    """A quote without its partner: the text that it opens runs to the end of the file, or to the next quote below."""
    if "end of stream" in error.problem and error.start_position:
        line, column = error.start_position
        sign = error.rows[line][column : column + 1] if line < len(error.rows) else ""
        return _not_closed(line, column, sign) if sign in ("'", '"') else None
    if error.problem not in (*_CLOSING, *_KEY_EXPECTED):
        return None
    for line in range(error.line):
        if text_match := _BEGUN_TEXT.fullmatch(error.rows[line]):
            return _not_closed(line, text_match.start(1), text_match[1])
    bare = re.sub(r"""'[^'"]*'""", "", error.row.split(" #")[0])
    return _not_closed(error.line, error.row.find('"'), '"') if bare.count('"') % 2 else None


def _not_closed(line: int, column: int, sign: str) -> Slip:
    what = f"a quote `{sign}` of this line is not closed"
    return line + 1, column + 1, what, f"close each text with `{sign}`, before a comma or a bracket that follows it"


def _no_space_after_dash(error: ParserError) -> Slip | None:
    """`-hipcc` among items: the parser takes it for the start of a key."""
    if "could not find expected ':'" not in error.problem:
        above = error.above(error.line)
        pair = re.match(r"( *)-([A-Za-z_][\w-]*: .*)", error.rows[above]) if above >= 0 else None
        if not pair or "mapping values are not allowed" not in error.problem:
            return None
        return above + 1, len(pair[1]) + 1, "no space after the `-` of an item", f"write `- {pair[2][:60]}`"
    for at in (*([error.start_position[0]] if error.start_position else []), error.above(error.line)):
        match = re.match(r"( *)-([A-Za-z0-9]\S*)", error.rows[at]) if 0 <= at < len(error.rows) else None
        if match:
            return at + 1, len(match[1]) + 1, "no space after the `-` of an item", f"write `- {match[2][:60]}`"
    return None


def _no_space(error: ParserError) -> Slip | None:
    for at in (error.line, error.above(error.line)):
        match = _JOINED_KEYS.fullmatch(error.rows[at]) if 0 <= at < len(error.rows) else None
        if match:
            what = f"`{match[1]}:` and `{match[2]}:` on one line"
            next = f"write `{match[2]}: {match[3].strip()[:60]}` on a line of its own, indented below `{match[1]}:`"
            return at + 1, indent(error.rows[at]) + 1, what, next
        sign = (
            re.fullmatch(r"\s*(?:- )?([A-Za-z_][\w-]*):([,;])\s*(?:#.*)?", error.rows[at])
            if 0 <= at < len(error.rows)
            else None
        )
        if sign:
            return (
                at + 1,
                error.rows[at].find(sign[2]) + 1,
                f"`{sign[2]}` behind the colon",
                f"remove it: write `{sign[1]}:`",
            )
        match = _NO_SPACE.fullmatch(error.rows[at]) if 0 <= at < len(error.rows) else None
        match = match or (_NO_SPACE_COLONS.fullmatch(error.rows[at]) if 0 <= at < error.line else None)
        if match:
            key, value = match[1], match[2][:60]
            return at + 1, 1, f"no space after the colon of `{key}`", f"write `{key}: {value}`"
    return None


def _no_colon(error: ParserError) -> Slip | None:
    """`kind kernels`: the parser reads on, and gives up at the next key or at the end."""
    if not any(words in error.problem for words in ("mapping values are not allowed", "could not find expected ':'")):
        return None
    lines = [error.start_position[0]] if error.start_position else []
    for at in (*lines, error.above(error.line)):
        match = _NO_COLON.fullmatch(error.rows[at]) if 0 <= at < len(error.rows) else None
        if match and match[2] and len(match[2].split()) > 2:
            what = f"`{match[0].strip()[:60]}` is not a `key: value`"
            return at + 1, indent(error.rows[at]) + 1, what, "write a colon behind the key, or `#` before a comment"
        if match and match[2]:
            return (
                at + 1,
                indent(error.rows[at]) + 1,
                f"no colon after `{match[1]}`",
                f"write `{match[1]}: {match[2][:60]}`",
            )
        if match:
            below = _below(error, at)
            is_header = below >= 0 and indent(error.rows[below]) > indent(error.rows[at])
            next = f"write `{match[1]}:`" if is_header else f"write `{match[1]}: VALUE`, or remove it"
            what = (
                f"`{match[1]}` has no colon, and lines below it" if is_header else f"`{match[1]}` is not a `key: value`"
            )
            return at + 1, indent(error.rows[at]) + 1, what, next
    return None


def _semicolon(error: ParserError) -> Slip | None:
    """`kind; wheel` and `kind => wheel`: another sign in place of the colon."""
    first = [error.start_position[0]] if error.start_position else []
    for at in (*first, error.above(error.line), error.line):
        row = error.rows[at] if 0 <= at < len(error.rows) else ""
        if match := re.fullmatch(r"(\s*(?:- )?)([A-Za-z_][\w-]*) ?(;|=>|:=) ?([^#:]+?)\s*(?:#.*)?", row):
            next = f"write `{match[2]}: {match[4][:60]}`"
            return at + 1, match.end(2) + 1, f"a `{match[3]}` in place of the colon after `{match[2]}`", next
    return None


def _header_not_indented(error: ParserError) -> Slip | None:
    """A key without indentation among entries that have it: its own lines are two levels deeper than it."""
    if error.problem not in _KEY_EXPECTED:
        return None
    here, at = indent(error.row), error.above(error.line)
    while at >= 0 and indent(error.rows[at]) > here:
        at = error.above(at)
    below = _below(error, at) if at >= 0 else -1
    header = _HEADER.fullmatch(error.rows[at]) if at >= 0 else None
    if not header or indent(error.rows[at]) >= here or below < 0 or indent(error.rows[below]) != here + 2:
        return None
    if not _HEADER.fullmatch(error.row):
        return None  # a key of that mapping itself
    if first := _HEADER.fullmatch(error.rows[below]):
        what = f"`{first[1]}:` is indented by {here + 2} spaces, and the entries beside it by {here}"
        return below + 1, here + 3, what, f"indent it by {here} spaces, as `{error.row.strip()[:40]}`"
    what = f"`{header[1]}:` is indented by {indent(error.rows[at])} spaces, and the entries beside it by {here}"
    return at + 1, indent(error.rows[at]) + 1, what, f"indent it by {here} spaces, as `{error.row.strip()[:40]}`"


def _key_among_items(error: ParserError) -> Slip | None:
    """A key as far to the right as the items of a list above it: entries with a name, the first of them as an item."""
    if error.problem != "did not find expected '-' indicator" or not error.start_position:
        return None
    line, column = error.start_position
    item = re.match(r" *- +(?:name: +)?([\w-]+):?\s*(?:#.*)?$", error.rows[line])
    if not item or indent(error.row) != column or not _HEADER.fullmatch(error.row):
        return None
    what = f"this entry is an item of a list, and `{error.row.strip()[:40]}` below it is a key"
    return (
        line + 1,
        column + 1,
        what,
        f"write `{item[1]}:` in place of `{item[0].split('#')[0].strip()}`, as the entries beside it",
    )


def _too_deep(error: ParserError) -> Slip | None:
    """A key that is indented more than the one above it, which has a value on its line."""
    above = error.above(error.line)
    if "mapping values are not allowed" not in error.problem or above < 0:
        return None
    here, there = indent(error.row), indent(error.rows[above].replace("- ", "  ", 1))
    if here <= there or not _PAIR.match(error.rows[above]):
        return None
    if comment := re.match(r"\s*((?:- )?[\w.-]+:) +(?://|--|;|%)", error.rows[above]):
        what = f"a comment of another language behind `{comment[1]}`"
        return above + 1, comment.end(1) + 2, what, "a comment begins with `#`, after a blank"
    if re.fullmatch(r"\s*(?:- )?[\w.-]+: +(?:null|~|\{\}|\[\]|'{2}|\"{2})", error.rows[above].split(" #")[0].rstrip()):
        key, _, value = error.rows[above].split(" #")[0].strip().removeprefix("- ").partition(":")
        what = f"`{key}` has the value `{value.strip()}`, and lines of its own below it"
        return above + 1, there + 1, what, f"write `{key}:` alone on its line"
    before = error.above(above)
    if before >= 0 and indent(error.rows[before].replace("- ", "  ", 1)) == here:
        what = f"this line is indented by {there} spaces, and the lines before and after it by {here}"
        return above + 1, there + 1, what, f"indent it by {here} spaces"
    if before >= 0 and indent(error.rows[before]) == there and (header := _HEADER.fullmatch(error.rows[before])):
        what = f"this line is not indented below `{header[1]}:`, and the next one is"
        return above + 1, there + 1, what, f"indent it by {here} spaces"
    if (
        here >= there + 2
        and _HEADER.fullmatch(error.row)
        and (own_key := re.match(r"\s*(?:- )?([\w.-]+):", error.rows[above]))
    ):
        what = f"`{own_key[1]}:` has a value, and lines of its own below it"
        return above + 1, there + 1, what, f"write `{own_key[1]}:` alone on its line"
    what = f"this line is indented by {here} spaces, and the key above it by {there}"
    next = f"indent it by {there} spaces, as the keys beside it"
    is_item = before >= 0 and here == there + 2 and _HEADER.fullmatch(error.rows[before])
    if is_item and indent(error.rows[before]) < there:
        item = f"- {error.rows[above].split(' #')[0].strip()[:60]}"
        what = f"this line has a value and is indented by {there} spaces, and the next one by {here}"
        next = f"in a list write `{item}`; in a mapping write `NAME:` above, by {there}, and this line by {here} too"
        return above + 1, there + 1, what, next
    return error.line + 1, here + 1, what, next


def _colon_in_value(error: ParserError) -> Slip | None:
    pair = _PAIR.match(error.row)
    if "mapping values are not allowed" not in error.problem or not pair or error.column < pair.end():
        return None
    value = error.row[pair.end() :].split(" #")[0].strip()
    if header := re.fullmatch(r"([A-Za-z_][\w-]*):", value):
        key = pair[0].strip().removeprefix("- ").removesuffix(":")
        what = f"`{header[1]}:` on the line of `{key}:`"
        return error.line + 1, pair.end() + 1, what, f"write `{value}` on a line of its own, indented below `{key}:`"
    if pair[0].strip().removeprefix("- ").rstrip(": ") in _PROSE:
        what = "a text that contains `: ` has no quotes"
        return error.line + 1, pair.end() + 1, what, f"put the text into quotes: {_in_quotes(value)}"
    if second := _SECOND_KEY.search(value):
        first, rest = value[: second.start()].rstrip(" ,;"), second[1]
        what = f"a second key, `{rest}`, on this line, or a text with `: ` and without quotes"
        key = pair[0].strip()
        next = f"write `{key} {first[:60]}`, and `{rest}:` on a line of its own; a text goes into quotes"
        return error.line + 1, error.row.find(f"{rest}:", pair.end()) + 1, what, next
    if re.match(r"[A-Za-z_][\w-]*: ", value):
        what = "a second key on this line, or a text with `: ` and without quotes"
        next = f"write {_quote(value)} for a text; a key of its own goes on the next line, indented, or into `{{}}`"
        return error.line + 1, pair.end() + 1, what, next
    if (pair_key := pair[0].strip().removeprefix("- ").rstrip(": ")) in _ONE_WORD and re.fullmatch(r"\S+: \S+", value):
        what = f"a blank behind the `:` in the value of `{pair_key}`"
        return error.line + 1, pair.end() + 1, what, f"write `{pair_key}: {value.replace(': ', ':')}`"
    what = "a value that contains `: ` has no quotes"
    return error.line + 1, pair.end() + 1, what, f"put it into quotes: {_quote(value)}"


_ONE_WORD = ("image", "git", "archive", "url", "index", "ref", "path")
"""Keys whose values have no blanks."""
_PROSE = ("summary", "reason", "by", "description", "title", "comment")
"""Keys whose texts are sentences: a word with a colon in one of them is not a second key."""


def _in_quotes(value: str) -> str:
    """A text in quotes, whole where a line of a message has room for it."""
    sign = "'" if '"' in value else '"'
    return f"`{sign}{value if len(value) <= 80 else value[:77] + '…'}{sign}`" if sign not in value else '`"…"`'


def _quote(value: str) -> str:
    """A text in quotes, as a message shows it."""
    return '`"…"`' if "'" in value or len(value) > 60 else f"`'{value}'`"


def _open_bracket(error: ParserError) -> Slip | None:
    if error.problem not in _CLOSING or not error.start_position:
        return None
    opening, closing = _CLOSING[error.problem]
    line, column = error.start_position
    bare = re.sub(r"\"[^\"']*\"|'[^'\"]*'", lambda text: " " * len(text[0]), error.rows[line].split(" #")[0])
    if (quote := re.search(r"(?<=[\[{, ])[\"']", bare[column:])) and opening == "[":
        return _not_closed(line, column + quote.start(), quote[0])
    if error.line > line:
        return line + 1, column + 1, f"`{opening}` is not closed", f"close it with `{closing}` after its last item"
    if error.sign in ("]", "}"):
        what = f"`{opening}` is closed with `{error.sign}`"
        return error.line + 1, error.column + 1, what, f"close it with `{closing}`"
    text = error.rows[error.line]
    if text[error.column : error.column + 1] == "[" and (word := re.search(r"[\w.-]+$", text[: error.column])):
        whole = word[0] + re.split(r"(?<=\])(?=[,\s\]])", text[error.column :], maxsplit=1)[0]
        return error.line + 1, word.start() + 1, "a text with a bracket in a list", f"put it into quotes: `\"{whole}\"`"
    return error.line + 1, error.column + 1, "two items without a comma between them", "write a `,` before this one"


def _empty_item(error: ParserError) -> Slip | None:
    if "did not find expected node content" not in error.problem:
        return None
    if error.sign == ",":
        what = "an item without a value: two commas, or a comma behind a bracket"
        return error.line + 1, error.column + 1, what, "remove this `,`, or write the item before it"
    if error.sign == "%":
        value = re.match(r"[^,\]}]*", error.row[error.column :])
        return (
            error.line + 1,
            error.column + 1,
            "a text cannot begin with `%`",
            f"put it into quotes: {_quote(value[0] if value else '')}",
        )
    return None


def _misplaced_sign(error: ParserError) -> Slip | None:
    """`- one`, `? x` and `> text` behind a key: signs that begin something on lines of its own."""
    pair = _PAIR.match(error.row)
    if not pair:
        return None
    value, key = error.row[pair.end() :].split(" #")[0].strip(), pair[0].strip()
    if "block sequence entries are not allowed" in error.problem:
        items = [item for item in re.split(r"\s*(?:^|,|\s)-\s+", value) if item]
        what = f"an item `- ` on the line of its key `{key}`"
        next = f"write `{key} [{', '.join(items)[:60]}]`, or each item on a line of its own below the key"
        return error.line + 1, pair.end() + 1, what, next
    if "mapping keys are not allowed" in error.problem:
        return error.line + 1, pair.end() + 1, "a text cannot begin with `? `", f"put it into quotes: {_quote(value)}"
    if "expected comment or line break" in error.problem and value[:1] in "|>":
        text = value.lstrip("|>+-0123456789 ")
        what = f"text behind `{value[0]}`, which begins a text of several lines below it"
        return (
            error.line + 1,
            pair.end() + 1,
            what,
            f"write `{key} {text[:60]}`, or that text on the next line, indented",
        )
    return None


def _no_dash(error: ParserError) -> Slip | None:
    """An item without its `- ` among items that have one."""
    if not any(words in error.problem for words in ("could not find expected ':'", *_KEY_EXPECTED)):
        return None
    for at in (*([error.start_position[0]] if error.start_position else []), error.above(error.line), error.line):
        row = error.rows[at] if 0 <= at < len(error.rows) else ""
        text = row.split(" #")[0].strip()
        if not re.fullmatch(r"[A-Za-z0-9][^\s:]*", text):
            continue
        beside = [error.rows[n] for n in (error.above(at), _below(error, at)) if n >= 0]
        if any(re.match(r" *- ", each) and indent(each) == indent(row) for each in beside):
            return (
                at + 1,
                indent(row) + 1,
                f"an item without its `- ` among items: `{text[:60]}`",
                f"write `- {text[:60]}`",
            )
    return None


def _below(error: ParserError, line: int) -> int:
    """The next line below that one that has more than a comment; -1 for none."""
    return next((at for at in range(line + 1, len(error.rows)) if error.rows[at].split("#")[0].strip()), -1)


def _has_item_below(error: ParserError) -> bool:
    """Whether an item follows at the depth of the line that the parser gave up at, before a line of less depth."""
    at, depth = _below(error, error.line), indent(error.row)
    while at >= 0 and indent(error.rows[at]) >= depth:
        if indent(error.rows[at]) == depth and error.rows[at].lstrip().startswith("- "):
            return True
        at = _below(error, at)
    return False


def _first_key_as_item(error: ParserError) -> Slip | None:
    """`- kind: kernels` and plain keys below it."""
    line = error.above(error.line)
    if error.problem not in _KEY_EXPECTED or line < 0 or not _PAIR.match(error.row):
        return None
    first = error.rows[line]
    if indent(error.row) != indent(first) or not re.match(r" *- +[\w-]+:", first):
        return None
    return (
        line + 1, indent(first) + 1, "a `- ` makes this key an item, and the lines below it are keys",
        f"remove the `- `: write `{first.split(' #')[0].strip()[2:][:60]}`, or indent the lines below it by 2 more",
    )  # fmt: skip


def _whole_line_quoted(error: ParserError) -> Slip | None:
    """`"memory: 6G"` as a line: a text where a key is to be."""
    if "could not find expected ':'" not in error.problem:
        return None
    for at in (*([error.start_position[0]] if error.start_position else []), error.above(error.line)):
        match = (
            re.fullmatch(r"""\s*(["'])((?:- |[A-Za-z_][\w-]*:).*?)\1\s*(?:#.*)?""", error.rows[at])
            if 0 <= at < len(error.rows)
            else None
        )
        if match:
            what = "a whole line in quotes"
            return (
                at + 1,
                match.start(1) + 1,
                what,
                f"write `{match[2].strip()[:60]}`: quotes belong around the value alone",
            )
    return None


def _value_below(error: ParserError) -> Slip | None:
    """A value on the line below its key that is not indented more than the key."""
    if "could not find expected ':'" not in error.problem and error.problem not in _KEY_EXPECTED:
        return None
    for at in (*([error.start_position[0]] if error.start_position else []), error.above(error.line), error.line):
        above = error.above(at)
        row = error.rows[at].split(" #")[0] if 0 <= at < len(error.rows) else ""
        key = _HEADER.fullmatch(error.rows[above]) if above >= 0 else None
        value, is_pair = row.strip(), re.match(r"\s*[\w.-]+:(?:\s|$)", row)
        if key and value and not value.startswith("- ") and not is_pair and indent(row) <= indent(error.rows[above]):
            what = f"the value of `{key[1]}` is on a line of its own"
            return at + 1, indent(row) + 1, what, f"write `{key[1]}: {value[:60]}`"
    return None


def _first_line_indented(error: ParserError) -> Slip | None:
    if "expected <document start>" not in error.problem:
        return None
    first = _below(error, -1)
    if first < 0 or not indent(error.rows[first]) or indent(error.row) >= indent(error.rows[first]):
        return None
    spaces = indent(error.rows[first])
    return (
        first + 1,
        1,
        f"this line is indented by {spaces} space{'s' * (spaces != 1)}, and the keys below it are not",
        "remove the spaces before it",
    )


def _extra_bracket(error: ParserError) -> Slip | None:
    if error.problem in _CLOSING or error.sign not in ("]", "}"):
        return None
    what = f"`{error.sign}` closes nothing that is open"
    return error.line + 1, error.column + 1, what, f"remove `{error.sign}`, or write what opens it"


def _text_after(error: ParserError) -> Slip | None:
    """Text after a value that had its end: behind a quoted text or a bracket."""
    if error.problem not in _KEY_EXPECTED or not error.row[: error.column].strip(" -"):
        return None
    rest = error.row[error.column :].split(" #")[0].strip()[:60]
    if rest and not rest.strip(",;"):
        what = f"`{rest}` at the end of the line"
        return error.line + 1, error.column + 1, what, f"remove it: a line ends without `{rest[0]}`"
    if second := re.match(r"[,;]?\s*([A-Za-z_][\w-]*):(?:\s|$)", rest):
        what = f"a second key, `{second[1]}`, on this line"
        return error.line + 1, error.column + 1, what, f"write `{second[1]}:` on a line of its own"
    if rest.startswith(",") and (pair := _PAIR.match(error.row)) and error.row[pair.end()] in "\"'":
        value = error.row[pair.end() :].split(" #")[0].strip()
        what = "several values behind one key are a list, and a list has brackets"
        return error.line + 1, pair.end() + 1, what, f"write `{pair[0].strip()} [{value[:60]}]`"
    what = f"`{rest}` follows a value that has ended" if rest else "the value has ended here"
    return error.line + 1, error.column + 1, what, "remove it, or put all of the value into one pair of quotes"


def _indentation(error: ParserError) -> Slip | None:
    """A line that is a key of no mapping above it, or an item among keys."""
    if error.problem not in _KEY_EXPECTED or not error.start_position:
        return None
    here, width, first = indent(error.row), error.start_position[1], error.start_position[0] + 1
    item = error.row.lstrip().startswith("- ")
    if item and here == width and re.match(r" *- +[\w.-]+:(?:\s|$)", error.row) and not _has_item_below(error):
        what = f"a `- ` before a key, among the keys that begin on line {first}"
        return (
            error.line + 1,
            here + 1,
            what,
            f"remove the `- `: write `{error.row.split(' #')[0].strip()[2:].strip()[:60]}`",
        )
    if item and here == width:
        what = f"a list item among the keys that begin on line {first}"
        return error.line + 1, here + 1, what, "write either all of them as items, `- `, or all of them as keys"
    if here == width:
        return None
    above = error.above(error.line)
    before = error.above(above)
    header = _HEADER.fullmatch(error.rows[before]) if before >= 0 else None
    if header and here == indent(error.rows[before]) + 2 and here < indent(error.rows[above]):
        what = (
            f"this line is indented by {indent(error.rows[above])} spaces, and the next key of `{header[1]}:` by {here}"
        )
        return above + 1, indent(error.rows[above]) + 1, what, f"indent it by {here}, as the keys below it"
    word = re.fullmatch(r"( *)- ([\w-]+)\s*(?:#.*)?", error.rows[above]) if above >= 0 else None
    if word and here > len(word[1]) and _PAIR.match(error.row):
        what = f"the item `- {word[2]}` is a text, and the lines below it are keys"
        return (
            above + 1,
            len(word[1]) + 1,
            what,
            f"write `- kind: {word[2]}`, with the name of its key before the value",
        )
    levels = error.levels()
    near = min((abs(level - here) for level in levels), default=0)
    fitting = [str(level) for level in levels if abs(level - here) == near]
    what = f"this line is indented by {here} space{'s' * (here != 1)}, and no key above it is"
    return error.line + 1, here + 1, what, f"indent it by {' or '.join(fitting)}, as the keys that it stands beside"


def _escape(error: ParserError) -> Slip | None:
    if not any(words in error.problem for words in ("unknown escape character", "hexdecimal number", "hexadecimal")):
        return None
    at = max(error.row.rfind("\\", 0, error.column + 1), 0)
    what = 'a `\\` in a text in `"` begins an escape'
    is_path = re.search(r'"\.{0,2}(?:[A-Za-z]:)?\\', error.row)
    how = (
        "write `/` in place of each `\\`, without quotes"
        if is_path
        else "put the text into `'` quotes, or write `\\\\`"
    )
    return error.line + 1, at + 1, what, how


_FINDERS: tuple[Callable[[ParserError], Slip | None], ...] = (
    _tab, _reserved_sign, _deeper_than_item, _escape, _misplaced_sign, _empty_item, _first_line_indented, _open_quote, _no_space_after_dash, _no_dash,
    _whole_line_quoted, _value_below, _no_space, _semicolon, _header_not_indented, _no_colon, _key_among_items, _too_deep, _colon_in_value, _open_bracket, _extra_bracket, _text_after,
    _first_key_as_item, _indentation,
)  # fmt: skip
_CLOSING = {"did not find expected ',' or ']'": ("[", "]"), "did not find expected ',' or '}'": ("{", "}")}
"""What libyaml says where a list or a mapping on one line has no end, and the two signs of it."""
_KEY_EXPECTED = ("did not find expected key", "did not find expected '-' indicator")
_NO_SPACE = re.compile(r"\s*(?:- )?([A-Za-z_][\w-]*):((?!//)[^\s:,;][^#:]*?)\s*(?:#.*)?")
_NO_SPACE_COLONS = re.compile(r"\s*(?:- )?([A-Za-z_][\w-]*):((?!//)[^\s:,;]\S*)\s*(?:#.*)?")
"""The same with a value that has colons itself: `image:NAME:TAG`, `git:https://…`."""
_NO_COLON = re.compile(r"\s*(?:- )?([A-Za-z_][\w-]*)(?:[ =]+([^\s:=](?:[^:#]|:(?=\S))*?))?\s*(?:#.*)?")
"""A line that is a key and a value without a colon, or one word."""
_PAIR = re.compile(r"\s*(?:- )?[A-Za-z_][\w.-]*: +(?=\S)")
_JOINED_KEYS = re.compile(r"\s*(?:- )?([A-Za-z_][\w-]*):(?:[,;]\s*)?([A-Za-z_][\w-]*):\s+([^#]*)(?:#.*)?")
"""A line that is a key, a colon, and a second key with its value."""
_HEADER = re.compile(r"\s*(?:- )?([A-Za-z_][\w.-]*):\s*(?:#.*)?")
"""A key whose value is the lines below it."""
_SECOND_KEY = re.compile(r"(?:[,;]|(?<=\S) )\s*([a-z_][\w-]*):(?:\s|$)")
"""A key behind the value of another: after a comma, or in the form that the keys of files have, in lower case."""
_BEGUN_TEXT = re.compile(r"""\s*(?:- )?[A-Za-z_][\w.-]*: +(["'])(?:(?!\1).)*""")
"""A value that begins with a quote and has no second one on its line."""
