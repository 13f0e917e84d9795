"""Execution providers by name, and their options checked against `stackbuild/tables/provider_options.yaml`."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from stackbuild.core.errors import UsageError
from stackbuild.tables.near_words import one_of
from stackbuild.tables.provider_options import ProviderOptions, builtin_providers, plugin_providers


def clock_name(text: str) -> str:
    """`wall` or `device`. Raises UsageError for anything else."""
    if text not in ("wall", "device"):
        raise UsageError(f"no clock {text!r}", next="--clock wall, or device for a GPU's own events")
    return text


def provider_name(text: str) -> str:
    """The full name of `cpu`, `migraphx`, … or a full name as it is; a plugin EP may be called anything."""
    table = builtin_providers()
    if text in table:
        return table[text].name
    if text.endswith("ExecutionProvider"):
        return text
    shorts = tuple(dict.fromkeys(p.short for p in table.values()))
    raise UsageError(f"no provider {text!r}", next=one_of(text, shorts, "a full name"))


def provider_options(provider: str, texts: Sequence[str], plugin: bool = False) -> dict[str, str]:
    """`KEY=VALUE` texts as options of that provider. Raises UsageError for one that it does not take."""
    options = dict(_split(text) for text in texts)
    entry = (plugin_providers() if plugin else builtin_providers()).get(provider)
    for key in options if entry else ():
        assert entry is not None
        if key not in entry.options:
            raise UsageError(f"{provider} has no option {key!r}{_elsewhere(key, entry)}", next=_instead(key, entry))
    return options


def _split(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"{text!r} is not KEY=VALUE", next="write for example --option device_id=0")
    return key, value


def _elsewhere(key: str, entry: ProviderOptions) -> str:
    if key in entry.gone:
        return f" any more: {entry.gone[key]}"
    owners = [p.name for p in builtin_providers().values() if key in p.options]
    return f"; it is one of {owners[0]}" if owners else ""


#: Options of one provider that do another's job, where the names are too far apart for a spelling match.
_SAME_JOB = {
    "cudnn_conv_algo_search": "miopen_conv_exhaustive_search", "enable_cuda_graph": "enable_hip_graph",
    "cudnn_conv_use_max_workspace": "miopen_conv_use_max_workspace", "gpu_mem_limit": "migraphx_mem_limit",
    "arena_extend_strategy": "migraphx_arena_extend_strategy",
}  # fmt: skip


def _instead(key: str, entry: ProviderOptions) -> str:
    job = {**{v: k for k, v in _SAME_JOB.items()}, **_SAME_JOB}.get(key)
    close = [job] if job in entry.options else difflib.get_close_matches(key, entry.options, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]}?"
    return f"it takes {', '.join(entry.options) or 'no options'} ({entry.source})"
