"""What a wrong command line is answered: what is wrong, the word that was probably meant, an example that is right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from stackbuild.cli.option_forms import advice_on, form_of
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word, shell_words
from stackbuild.tables.key_words import keys_of_word, plain_word
from stackbuild.tables.near_words import nearest, one_of


def usage_mistake(error: Any, words: Sequence[str], program: Any) -> UsageError:
    """The library's error about a command line, as ours. `program` is the command that has all others inside."""
    path, command = _command(words, program)
    where = path.partition(" ")[2]
    message = str(error.format_message()).strip().rstrip(".")
    message = message[:1].lower() + message[1:]
    every = f"`{path} --help` lists the options"
    if (option := getattr(error, "option_name", "")) and hasattr(error, "possibilities"):
        hint = _days_meant(option, words, command) or _option_hint(option, command, program)
        return UsageError(
            f"no option `{option}`",
            where=where,
            next=f"{hint}{'' if hint[-1:] == '?' else ';'} {every}" if hint else every,
        )
    if unknown_command := re.search(r"no such command ['\"](.*?)['\"]", message):
        hint = _command_hint(unknown_command[1], path, command, program)
        return UsageError(f"no command `{path} {unknown_command[1]}`", next=f"{hint}`{path} --help` lists the commands")
    if missing := re.match(r"missing (?:argument|option) (.*)", message, re.DOTALL):
        message = f"{missing[1].replace(chr(39), '').replace(' / ', ' or ')} is missing"
        if missing[1].lower().strip("'") == "version" and (requirement := next((w for w in words if "==" in w), "")):
            parts = [part for word in words for part in (word.split("==", 1) if word is requirement else [word])]
            step = f"write project and version as two words: `stackbuild {shell_words(parts)}`"
            return UsageError(f"{message}: {requirement!r} is one word", where=where, next=step)
    if missing and (step := _as_option(missing[1], words, command)):
        return UsageError(message, where=where, next=step)
    if wrong := re.match(r"invalid value for (.+?): (.+)", message, re.DOTALL):
        return _wrong_value(wrong[1], wrong[2], words, command, where, every)
    if about := re.match(r"option ['\"](--?[\w-]+)['\"] (requires an argument|does not take a value)", message):
        step = advice_on(where, about[1]) if about[2][0] == "r" else f"write `{about[1]}` alone"
        what = "it has no value" if about[2][0] == "r" else "it takes no value"
        return UsageError(what, where=f"{where} {about[1]}".strip(), next=step or every)
    if extra := re.match(r"got unexpected extra argument(?:s|\(s\))? ?\((.*)\)$", message):
        return UsageError(message, where=where, next=_without_extra(extra[1], words, path, command))
    example_line = re.search(r"Example: (.+)", command.help or "")
    example = f"for example `{example_line[1].strip()}`; " if example_line else ""
    return UsageError(message, where=where, next=example + every)


def _as_option(missing: str, words: Sequence[str], command: Any) -> str:
    """The command line with its last word as the option that is missing, where an argument took it; "" where none did."""
    option = next((name for name in re.findall(r"--[\w-]+", missing)), "")
    many = [param for param in command.params if not param.opts[0].startswith("-") and getattr(param, "nargs", 1) == -1]
    values = [i for i, word in enumerate(words) if i > 0 and not word.startswith("-") and not words[i - 1].startswith("-")]
    if not option or not many or len(values) < 2 or values[-1] != len(words) - 1:
        return ""
    if re.search(r"\.whl$|[*?]", words[-1]):
        return ""
    return f"write `stackbuild {shell_words([*words[:-1], option, words[-1]])}`"


def _days_meant(option: str, words: Sequence[str], command: Any) -> str:
    """`--days 7` of an age such as `--older-than 7d`, where the command has that option; "" for anything else."""
    if "--days" not in [name for param in command.params for name in param.opts]:
        return ""
    if "--days" not in _OPTIONS.get(plain_word(option.strip("-")), ""):
        return ""
    text = next((b.partition("=")[2] or a for b, a in zip(words, [*words[1:], ""], strict=True) if b.partition("=")[0] == option), "")
    age = re.fullmatch(r"(?i)(\d{1,5})\s*(d|days?|w|weeks?|h|hours?)?", text)
    if age is None:
        return ""
    unit = (age[2] or "d")[0].lower()
    days = int(age[1]) * 7 if unit == "w" else -(-int(age[1]) // 24) if unit == "h" else int(age[1])
    return f"write `--days {days}`"


def _without_extra(extra: str, words: Sequence[str], path: str, command: Any) -> str:
    """The next step for words that no argument takes: they are the value of an option, or there is no place for them."""
    first = extra.split()[0] if extra.split() else ""
    before = words[words.index(first) - 1] if first in words[1:] else ""
    if before.startswith("-"):
        return f"remove `{first}`: `{before}` takes no value"
    names = [max(param.opts, key=len) for param in command.params if param.required and not {*param.opts} & {*words}]
    names = [name for name in names if name.startswith("-")]
    names += [name for param in command.params for name in param.opts if name == "--gpu" and name not in words]
    if len(names) == 1:
        return f"did you mean `{path} {names[0]} {shell_word(extra)}`?"
    takes = [param for param in command.params if not param.opts[0].startswith("-")]
    rest = f"`{path}` takes {'no' if not takes else f'{len(takes)}'} word{'s' * (len(takes) != 1)} beside its options"
    return f"remove `{extra}`: {rest}; `{path} --help` lists them"


def _wrong_value(names: str, reason: str, words: Sequence[str], command: Any, where: str, every: str) -> UsageError:
    """A value that an option cannot have: the value, what the option takes, and its own help."""
    options = re.findall(r"--?[\w-]+", names)
    param = next((each for each in command.params if {*each.opts} & {*options}), None)
    value = next(
        (
            b.partition("=")[2] or a
            for b, a in zip(words, [*words[1:], ""], strict=True)
            if b.partition("=")[0] in options
        ),
        "",
    )
    listing = reason.rpartition("one of ")[2] if "one of " in reason else ""
    choices = re.findall(r"[\w.-]+", listing)
    if param is not None and len(choices) > 1:
        return UsageError(f"it cannot be {value!r}", where=f"{where} {options[0]}".strip(), next=one_of(value, choices))
    number = next((words for sign, words in _NUMBERS if sign in reason.lower()), "")
    if param is None or not number:
        return UsageError(
            f"{options[0] if options else names}: {reason[:1].lower()}{reason[1:]}", where=where, next=every
        )
    option = max(param.opts, key=len)
    form = form_of(where, option)
    least, most = (getattr(param, end, getattr(getattr(param, "type", None), end, None)) for end in ("min", "max"))
    bounds = ("" if least is None else f" from {least:g}") + ("" if most is None else f" to {most:g}")
    is_number = re.fullmatch(r"-?[\d.]+", value)
    parts = re.findall(r"\d+", value) if re.fullmatch(r"\[?\d+(?:\s*[,;: x]\s*\d+)+\]?", value) else []
    if parts and getattr(param, "multiple", False):
        command_line = " ".join(f"{option} {part}" for part in parts)
        return UsageError(f"{value!r} is several values in one", where=f"{where} {options[0]}", next=f"write the option for each: `{command_line}`")
    what = f"{value!r} is {'out of bounds' if is_number else f'not {number}'}"
    return UsageError(
        what,
        where=f"{where} {options[0]}",
        next=f"write {number}{bounds}: {_first_sentence(param.help)}"
        + (f"; for example `{option} {form.example}`" if form else ""),
    )


_NUMBERS = (
    ("integer", "a whole number"),
    ("number", "a number"),
    ("float", "a number"),
    ("range", "a number"),
    ("than", "a number"),
)
"""Words of the library's message about a number, and what the option takes."""


def _first_sentence(help: str | None) -> str:
    text = (help or "").partition("  ")[0].strip().rstrip(".")
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def _command(words: Sequence[str], program: Any) -> tuple[str, Any]:
    """The command that the words name, as it is typed."""
    path, command, is_value = "stackbuild", program, False
    for word in words:
        inside = getattr(command, "commands", {})
        if is_value:
            is_value = False
        elif word.startswith("-"):
            param = next((each for each in command.params if word in each.opts), None)
            is_value = param is not None and not getattr(param, "is_flag", False)
        elif word in inside:
            path, command = f"{path} {word}", inside[word]
        else:
            break
    return path, command


_WORDS_OF_OTHER_TOOLS = {
    "recipe check": "check lint validate", "recipe new": "init create generate scaffold", "recipe list": "list ls recipes",
    "build": "make compile run all bdist_wheel wheel", "verify": "test auditwheel prove audit repair", "inspect": "info show dump",
    "plan": "graph tree dag steps status", "lock": "freeze pin update upgrade", "fetch": "download vendor pull",
    "store gc": "clean gc prune purge clear cache rm remove delete", "publish": "upload deploy release push twine", "hipify": "convert port translate",
    "bench models": "benchmark perf measure profile", "bench compare": "diff compare", "doctor": "setup detect diagnose healthcheck",
    "start": "install get gpu quickstart", "shell": "exec enter attach debug", "logs": "log tail output", "report": "html summary",
}  # fmt: skip
"""Commands, and what other tools and people call them."""


def _command_hint(word: str, path: str, command: Any, program: Any) -> str:
    """The command that was meant: of this name elsewhere, spelt like it, or of another tool's word; "" for none."""
    near = nearest(word, [*command.commands])
    synonyms = [f"stackbuild {ours}" for ours, words in _WORDS_OF_OTHER_TOOLS.items() if word.lower() in words.split()]
    here = [each for each in synonyms if each.startswith(f"{path} ") and each.count(" ") == path.count(" ") + 1]
    same_leaf = [each for each, _ in _commands(program) if each.rpartition(" ")[2] == word]
    suggestion = next(iter((*here, *([f"{path} {near}"] if near else ()), *synonyms, *same_leaf)), "")
    return f"did you mean `{suggestion}`? " if suggestion else ""


_OPTIONS = {
    "older_than": "--days", "age": "--days", "keep_days": "--days", "since": "--days", "max_age": "--days", "size": "--max-size",
    "output": "--out", "output_dir": "--out", "dest": "--out", "outdir": "--out", "n": "--dry-run", "simulate": "--dry-run",
    "pretend": "--dry-run", "check": "--dry-run", "parallel": "--jobs", "cores": "--jobs", "workers": "--jobs", "config": "--recipe",
    "file": "--recipe", "f": "--recipe", "clean": "--from-scratch", "force": "--from-scratch --replace", "no_cache": "--from-scratch",
    "frozen": "--locked", "offline": "--mirror", "ep": "--provider", "execution_provider": "--provider", "target_rocm": "--rocm",
    "step": "--only --until", "stop_after": "--until", "index": "--to", "repository": "--to", "repository_url": "--to", "format_json": "--json",
    "device_id": "--device", "input_shape": "--shape", "shapes": "--shape", "old": "--baseline", "new": "--candidate", "before": "--baseline",
    "after": "--candidate", "baseline_wheel": "--baseline", "wheel_path": "--wheel", "iterations": "--rounds", "runs": "--rounds",
    "environment": "--venv", "env": "--venv", "prefix": "--venv", "key": "--sign", "sign_key": "--sign", "gpg_key": "--sign", "yes_to_all": "--yes",
}  # fmt: skip
"""Words that other tools have for options, and ours: the first that the command has."""


_INSTEAD = {
    ("build", "--memory"): "remove it: a component's `memory:` in the recipe says it", ("build", "--set"): "write the value in the recipe: it has no overrides",
    ("build", "--lock"): "remove it: the lock is `RECIPE.lock.yaml` beside the recipe, and `--locked` refuses an old one",
    ("build", "--cmake-args"): "write them as `options:` of the component", ("build", "--clean"): "did you mean `--from-scratch`?",
    ("plan", "--format"): "did you mean `--json`?", ("rules", "--severity"): "remove it: `stackbuild rules` lists all, `--json` for a filter",
    ("schema", "--format"): "remove it: the schema is JSON", ("lock", "--update"): "remove it: `stackbuild lock` takes what is newest of all",
    ("hipify", "--rocm"): "did you mean `--target-rocm`?", ("hipify", "--output"): "did you mean `-o`?", ("env", "--gfx"): "did you mean `--gpu`?",
    ("start", "--gfx"): "did you mean `--gpu`?", ("start", "--device"): "did you mean `--gpu`?", ("report", "--html"): "did you mean `-o report.html`?",
    ("report", "--run"): "name the run without an option: `stackbuild report RUN`", ("worker", "--on"): "write the address without an option: `stackbuild worker tcp+tls://host.example.org:8786`",
    ("worker", "--scheduler"): "write the address without an option: `stackbuild worker tcp+tls://host.example.org:8786`",
    ("models", "--device"): "set ROCR_VISIBLE_DEVICES to the GPU's index", ("models", "--sizes"): "did you mean `--batch`?",
    ("models", "--batch-size"): "did you mean `--batch`?", ("doctor", "--gpu"): "call `stackbuild start --gpu`: it says what is for a GPU",
    ("new", "--gfx"): "remove it, and write `gfx:` in the recipe that it makes", ("new", "--gpu"): "remove it, and write `gfx:` in the recipe that it makes",
    ("list", "--all"): "remove it: all are listed", ("gate", "--results"): "did you mean `--candidate`?", ("verify", "--provider"): "remove it: the recipe's `verify.providers` says it",
}  # fmt: skip
"""Options that a command of that name does not have, and what to do in place of each."""


def _option_hint(option: str, command: Any, program: Any) -> str:
    """The option that was meant, or whose it is; "" for none."""
    if step := _INSTEAD.get((command.name or "", option), ""):
        return step
    own = [name for param in command.params if not param.hidden for name in param.opts if name.startswith("--")]
    synonyms = [f"--{key.replace('_', '-')}" for key in keys_of_word(option.strip("-"))] + _OPTIONS.get(
        plain_word(option.strip("-")), ""
    ).split()
    if synonym := next((name for name in synonyms if name in own), ""):
        return f"did you mean `{synonym}`?"
    whose = [f"`{other}`" for other, each in _commands(program) if any(option in param.opts for param in each.params)]
    if whose:
        return f"{', '.join(whose[:3])} take{'s' * (len(whose) == 1)} it"
    near = nearest(option, own)
    return f"did you mean `{near}`?" if near else ""


def _commands(program: Any) -> Iterator[tuple[str, Any]]:
    todo = [("stackbuild", program)]
    while todo:
        path, command = todo.pop(0)
        inside = getattr(command, "commands", {})
        if not inside:
            yield path, command
        todo += [(f"{path} {name}", sub) for name, sub in inside.items() if not sub.hidden]
