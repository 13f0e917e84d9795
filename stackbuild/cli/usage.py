"""What a wrong command line is answered: what is wrong, the word that was probably meant, an example that is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from stackbuild.core.errors import UsageError
from stackbuild.tables.near_words import nearest


def usage_mistake(error: Any, words: Sequence[str], program: Any) -> UsageError:
    """The library's error about a command line, as ours. `program` is the command that has all others inside."""
    path, command = _command(words, program)
    where = path.partition(" ")[2]
    message = str(error.format_message()).strip().rstrip(".")
    message = message[:1].lower() + message[1:]
    every = f"`{path} --help` lists the options"
    if (option := getattr(error, "option_name", "")) and hasattr(error, "possibilities"):
        hint = _option_hint(option, command, program)
        return UsageError(f"no option `{option}`", where=where, next=f"{hint}; {every}" if hint else every)
    if unknown_command := re.search(r"no such command ['\"](.*?)['\"]", message):
        near = nearest(unknown_command[1], [*command.commands])
        hint = f"did you mean `{path} {near}`? " if near else ""
        return UsageError(f"no command `{path} {unknown_command[1]}`", next=f"{hint}`{path} --help` lists the commands")
    if missing := re.match(r"missing (?:argument|option) (.*)", message, re.DOTALL):
        message = f"{missing[1].replace(chr(39), '').replace(' / ', ' or ')} is missing"
    example_line = re.search(r"Example: (.+)", command.help or "")
    example = f"for example `{example_line[1].strip()}`; " if example_line else ""
    return UsageError(message, where=where, next=example + every)


def _command(words: Sequence[str], program: Any) -> tuple[str, Any]:
    """The command that the words name, as it is typed."""
    path, command = "stackbuild", program
    for word in words:
        inside = getattr(command, "commands", {})
        if word in inside:
            path, command = f"{path} {word}", inside[word]
        elif not word.startswith("-"):
            break
    return path, command


def _option_hint(option: str, command: Any, program: Any) -> str:
    """The option that was meant, or whose it is; "" for none."""
    whose = [f"`{other}`" for other, each in _commands(program) if any(option in param.opts for param in each.params)]
    if whose:
        return f"{', '.join(whose[:3])} take{'s' * (len(whose) == 1)} it"
    names = [name for param in command.params if not param.hidden for name in param.opts if name.startswith("--")]
    near = nearest(option, names)
    return f"did you mean `{near}`?" if near else ""


def _commands(program: Any) -> Iterator[tuple[str, Any]]:
    todo = [("stackbuild", program)]
    while todo:
        path, command = todo.pop(0)
        inside = getattr(command, "commands", {})
        if not inside:
            yield path, command
        todo += [(f"{path} {name}", sub) for name, sub in inside.items() if not sub.hidden]
