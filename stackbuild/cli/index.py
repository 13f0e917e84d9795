"""`index …`, `verify-release`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, app, argument, group, leave, option
from stackbuild.cli.index_options import (
    Days,
    IndexChange,
    LowestNumber,
    RootOption,
    SignIndexOption,
    SigningOptions,
    open_index,
)
from stackbuild.cli.shared_options import sharing

if TYPE_CHECKING:
    from stackbuild.publishing.catalog import Catalog, ProjectStatus
    from stackbuild.publishing.publication import Publication

index = group("index", "Look after a published index: yank, sign, check. Published bytes are never deleted.")

Folder = Annotated[Path, argument(metavar="INDEX", help="Folder of the index.")]
Index = Annotated[str, argument(metavar="INDEX", help="Folder of the index, or s3://BUCKET/PREFIX.")]
ProjectName = Annotated[str, argument(metavar="PROJECT", help="Name of a project on the index.")]
Keys = Annotated[
    list[Path],
    option("--key", "-k", metavar="FILE", help="Public key (.pub) or allowed_signers file; may be repeated."),
]


@index.command("yank")
@sharing(IndexChange)
def yank(
    place: Index,
    project: ProjectName,
    version: Annotated[str, argument(help="The version to yank: all its files.")],
    reason: Annotated[str, option("--reason", metavar="TEXT", help="Why; installers print it.")] = "",
    how: IndexChange = IndexChange(),
) -> None:
    """Take a version back.

    Installers leave it alone, but where it is asked for by `==` (PEP 592).

    Example: stackbuild index yank dist/simple onnxruntime-rocm 1.22.1 --reason "wrong results on gfx1100"
    """
    from stackbuild.publishing import maintenance

    change = _change(place, how.signing, lambda folder, by: maintenance.yank(folder, project, version, reason, by))
    _print_change(change, f"yanked: {project} {version}", how.json)


@index.command("unyank")
@sharing(IndexChange)
def unyank(
    place: Index,
    project: ProjectName,
    version: Annotated[str, argument(help="The version that was yanked.")],
    how: IndexChange = IndexChange(),
) -> None:
    """Offer a yanked version again.

    Example: stackbuild index unyank dist/simple onnxruntime-rocm 1.22.1
    """
    from stackbuild.publishing import maintenance

    change = _change(place, how.signing, lambda folder, by: maintenance.yank(folder, project, version, None, by))
    _print_change(change, f"offered again: {project} {version}", how.json)


@index.command("status")
@sharing(IndexChange)
def status(
    place: Index,
    project: ProjectName,
    value: Annotated[str, argument(metavar="STATUS", help="active, archived, deprecated or quarantined (PEP 792).")],
    reason: Annotated[str, option("--reason", metavar="TEXT", help="Why; the page shows it.")] = "",
    how: IndexChange = IndexChange(),
) -> None:
    """Set a project's status. The page of a quarantined project offers no file.

    Example: stackbuild index status dist/simple onnxruntime-rocm quarantined --reason "the key was stolen"
    """
    from typing import get_args

    from stackbuild.core.errors import UsageError
    from stackbuild.publishing.catalog import ProjectStatus

    if value not in get_args(ProjectStatus):
        raise UsageError(f"no status {value!r}", next=f"statuses are {', '.join(get_args(ProjectStatus))}")
    change = _set_status(place, how.signing, project, value, reason)  # type: ignore[arg-type]
    _print_change(change, f"{value}: {project}", how.json)


@index.command("quarantine")
@sharing(IndexChange)
def quarantine(
    place: Index,
    project: ProjectName,
    reason: Annotated[str, option("--reason", metavar="TEXT", help="Why; the page shows it.")] = "",
    how: IndexChange = IndexChange(),
) -> None:
    """Offer no file of a project.

    Until its status is set to active again; the bytes stay.

    Example: stackbuild index quarantine dist/simple onnxruntime-rocm --reason "the key was stolen"
    """
    change = _set_status(place, how.signing, project, "quarantined", reason)
    _print_change(change, f"quarantined: {project}", how.json)


@index.command("sign")
def sign_index(
    place: Index,
    sign: SignIndexOption = None,
    add: Annotated[
        bool, option("--add", help="Add a signature to those that are there: the second of several people.")
    ] = False,
    key: Annotated[
        list[Path] | None,
        option("--key", "-k", metavar="FILE", help="Public key of who signed it before; may be repeated."),
    ] = None,
    accept_changes: Annotated[
        bool, option("--accept-changes", help="Sign what lies there, though it is not what was signed before.")
    ] = False,
    days: Days = 90.0,
    at_least: LowestNumber = 0,
    root: RootOption = "",
    json: JsonOption = False,
) -> None:
    """Sign an index as it stands.

    Before its signature expires, or as one more of several people. The signature that is there must be of one of the
    keys, and every file as it was signed.

    Example: stackbuild index sign dist/simple --sign release.key

    Example: stackbuild index sign dist/simple --sign second.key --add --key release.key.pub
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.publishing import maintenance
    from stackbuild.publishing.index_numbers import IndexNumbers, default_numbers_file
    from stackbuild.publishing.ssh_keys import load_trusted_keys

    if not sign:
        raise UsageError("no key is given", next="add `--sign KEY`; `ssh-keygen -t ed25519 -f release.key` makes one")
    if add and accept_changes:
        raise UsageError(
            "--add signs what others have signed, and nothing else",
            next="leave out --add: the index is signed anew, and the others add their signatures again",
        )
    settings = replace(
        SigningOptions(sign, False, days, at_least, root).publication(),
        trusted_keys=load_trusted_keys(key) if key else (),
        accept_changes=accept_changes,
    )
    with open_index(place, bool(sign)) as folder:
        change = (
            maintenance.cosign(
                folder, settings.keys, settings.trusted_keys, IndexNumbers(default_numbers_file()), at_least, root
            )
            if add
            else maintenance.sign(folder, settings)
        )
    _print_change(change, "signed", json)


@index.command("check")
def check(
    folder: Folder,
    rebuild: Annotated[
        bool,
        option("--rebuild", help="Make the catalog again from the last pages and what lies beside the wheels."),
    ] = False,
    accept_losses: Annotated[
        bool, option("--accept-losses", help="Rebuild, too, where pages will not be what they were.")
    ] = False,
    sign: SignIndexOption = None,
    json: JsonOption = False,
) -> None:
    """Read every published file.

    Each is compared with the catalog. Exit 7 where one differs.

    Example: stackbuild index check dist/simple
    """
    from stackbuild.publishing import maintenance
    from stackbuild.views.console import err, print_json
    from stackbuild.views.publishing import draw_problems

    losses: tuple[str, ...] = ()
    with err().status("reading the index …"):
        if rebuild:
            losses = maintenance.rebuild(folder, SigningOptions(sign).publication(), accept_losses)
        problems = maintenance.damages(folder)
    for line in losses:
        err().print(f"lost: {line.replace('would change', 'has changed')}", markup=False)
    print_json(problems, "stackbuild.index-check/1") if json else draw_problems(problems, "the index is whole")
    if problems:
        leave(7)


def _change(place: str, signing: SigningOptions, change: Callable[[Path, Publication], Catalog]) -> Catalog:
    """The catalog after a change of the index, which the options sign."""
    with open_index(place, bool(signing.sign)) as folder:
        return change(folder, signing.publication())


def _set_status(place: str, signing: SigningOptions, project: str, value: ProjectStatus, reason: str) -> Catalog:
    from stackbuild.publishing import maintenance

    return _change(place, signing, lambda folder, how: maintenance.set_status(folder, project, value, reason, how))


def _print_change(catalog: Catalog, what: str, json: bool) -> None:
    from stackbuild.views.console import out, print_json

    if json:
        print_json({"done": what, "number": catalog.number}, "stackbuild.index/1")
    else:
        out().print(f"{what} (index number {catalog.number})")


@app.command("verify-release")
def check_release(
    folder: Folder,
    key: Keys,
    threshold: Annotated[
        int, option("--threshold", metavar="N", min=1, help="Signatures of so many keys are needed.")
    ] = 1,
    require: Annotated[
        str,
        option(
            "--require",
            metavar="KINDS",
            help="What each wheel must have: provenance, verification, benchmarks, sbom, lock.",
        ),
    ] = "",
    numbers_file: Annotated[
        Path | None,
        option(
            "--seen", metavar="FILE", help="File with the numbers of indexes seen before; default below ~/.local/state."
        ),
    ] = None,
    no_seen: Annotated[
        bool, option("--no-seen", help="Neither read nor write that file: a rollback is not seen.")
    ] = False,
    at_least: LowestNumber = 0,
    root: Annotated[
        str,
        option("--root", metavar="NAME", help="The name that the index must have been signed as: `rocm-7.2/simple`."),
    ] = "",
    url: Annotated[
        str, option("--url", metavar="URL", help="The address that the index must have been signed for.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Check a signed index against keys that you trust.

    It needs no network. Every page, wheel, SBOM and statement is read against the signed list. An older state, an expired one and one that was
    added to are refused. Exit 5 where anything is wrong.

    Example: stackbuild verify-release dist/simple --key release.key.pub
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.publishing.index_numbers import default_numbers_file
    from stackbuild.publishing.ssh_keys import load_trusted_keys
    from stackbuild.publishing.statements import NAMES
    from stackbuild.publishing.verify_release import Trust, verify_release
    from stackbuild.views.console import err, print_json
    from stackbuild.views.publishing import draw_release_proof

    kinds = tuple(word for word in require.split(",") if word)
    if unknown_kinds := [kind for kind in kinds if kind not in (*NAMES, "sbom", "lock")]:
        raise UsageError(f"no kind {unknown_kinds[0]!r}", next=f"kinds are {', '.join(NAMES)}, sbom, lock")
    state = None if no_seen else numbers_file or default_numbers_file()
    with err().status("reading the index …"):
        proof = verify_release(folder, Trust(load_trusted_keys(key), threshold, state, kinds, at_least, root, url))
    print_json(proof, "stackbuild.release-proof/1") if json else draw_release_proof(proof)
    if proof.problems:
        leave(5)
