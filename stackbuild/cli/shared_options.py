"""Options that several commands take alike, written once as the fields of a dataclass: see `stackbuild/cli/bench.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from stackbuild.cli.app import option
from stackbuild.cli.completion import words

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from stackbuild.remote.settings import Settings


def sharing(*shapes: type[DataclassInstance]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The command's last parameters are of those dataclasses: their fields, each with a default, become its options."""

    def spread(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        parameters = list(inspect.signature(command).parameters.values())
        own, values = parameters[: -len(shapes)], parameters[-len(shapes) :]
        shared_parameters = [
            inspect.Parameter(f.name, value.kind, default=f.default, annotation=types[f.name])
            for shape, value in zip(shapes, values, strict=True)
            for types in [get_type_hints(shape, include_extras=True)]
            for f in fields(shape)
        ]

        @wraps(command)
        def wrapper(*values_in_order: Any, **values_by_name: Any) -> None:
            bound = signature.bind(*values_in_order, **values_by_name)
            bound.apply_defaults()
            arguments = bound.arguments
            own_arguments = {p.name: arguments[p.name] for p in own}
            shared_arguments = {
                value.name: shape(**{f.name: arguments[f.name] for f in fields(shape)})
                for shape, value in zip(shapes, values, strict=True)
            }
            command(**own_arguments, **shared_arguments)

        whole = [*(p.replace(annotation=hints[p.name]) for p in own), *shared_parameters]
        signature = inspect.Signature(whole)
        wrapper.__signature__ = signature  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in whole}
        return wrapper

    return spread


TextsOption = list[str] | None


@dataclass(frozen=True)
class SessionArguments:
    """How ONNX Runtime is run and timed: what `bench` and `gate` have in common."""

    provider: Annotated[str, option("--provider", "-p", help="cpu, migraphx, rocm, cuda, or a full name.", autocompletion=words("cpu", "migraphx", "rocm", "cuda"))] = "cpu"
    options: Annotated[
        TextsOption, option("--option", metavar="KEY=VALUE", help="A provider option; may be repeated.")
    ] = None
    python: Annotated[
        Path | None, option("--python", help="Interpreter with numpy and onnxruntime; default: this one.")
    ] = None
    threads: Annotated[
        int, option("--threads", min=0, help="CPU threads of a session; 0 lets ONNX Runtime choose.")
    ] = 0
    seed: Annotated[int, option("--seed", help="Of the order of sides within rounds.")] = 0
    clock: Annotated[
        str,
        option(
            "--clock",
            metavar="CLOCK",
            help="wall, or device: events on the session's own stream of a GPU.",
            autocompletion=words("wall", "device"),
        ),
    ] = "wall"


@dataclass(frozen=True)
class TlsArguments:
    """The certificates of a cluster: what `worker`, `scheduler` and `build --on` have in common."""

    tls_ca: Annotated[
        Path | None,
        option(
            "--tls-ca",
            metavar="FILE",
            help="PEM certificate of the cluster's authority.",
            envvar="STACKBUILD_TLS_CA",
            show_envvar=False,
        ),
    ] = None
    tls_cert: Annotated[
        Path | None,
        option(
            "--tls-cert",
            metavar="FILE",
            help="PEM certificate of this process.",
            envvar="STACKBUILD_TLS_CERT",
            show_envvar=False,
        ),
    ] = None
    tls_key: Annotated[
        Path | None,
        option(
            "--tls-key",
            metavar="FILE",
            help="PEM key of that certificate.",
            envvar="STACKBUILD_TLS_KEY",
            show_envvar=False,
        ),
    ] = None


def chosen_remotes(url: str, trust: list[Path], no_remote: bool) -> Settings:
    """The remotes that the options name, else those of the user's settings."""
    from stackbuild.core.errors import UsageError
    from stackbuild.remote.settings import Settings, read_settings, settings_of

    if no_remote and (url or trust):
        raise UsageError("--no-remote and --remote cannot be used together", next="give one of them")
    if bool(url) != bool(trust):
        raise UsageError(
            "--remote and --trust go together: without a key nothing is taken",
            next="add both, or trust the remote for good: `stackbuild store trust add URL KEY.pub`",
        )
    if no_remote:
        return Settings()
    return settings_of(url, trust) if url else read_settings()
