"""`publish`, `index …`, `verify-release`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import JsonOption, app, argument, group, leave, option

if TYPE_CHECKING:
    from stackbuild.publishing.catalog import Catalog
    from stackbuild.publishing.publication import Publication

index = group("index", "Look after a published index: yank, sign, check. Published bytes are never deleted.")

REGISTRY_SCHEMES = ("oci://", "oci+http://")
Folder = Annotated[Path, argument(metavar="INDEX", help="Folder of the index.")]
Index = Annotated[str, argument(metavar="INDEX", help="Folder of the index, or s3://BUCKET/PREFIX.")]
ProjectName = Annotated[str, argument(metavar="PROJECT", help="Name of a project on the index.")]
SignIndexOption = Annotated[
    list[Path] | None,
    option(
        "--sign",
        metavar="KEY",
        help="OpenSSH ed25519 private key (`ssh-keygen -t ed25519`); may be repeated. Its passphrase comes from"
        " $STACKBUILD_KEY_PASSPHRASE.",
    ),
]
UnsignedOption = Annotated[
    bool, option("--unsigned", help="Write a signed index without a signature: it is signed no more.")
]
LowestNumber = Annotated[
    int,
    option(
        "--at-least",
        metavar="N",
        min=0,
        envvar="STACKBUILD_INDEX_AT_LEAST",
        show_envvar=False,
        help="Refuse a signed state with a number below N: for a machine that has not seen the index before;"
        " $STACKBUILD_INDEX_AT_LEAST.",
    ),
]
Days = Annotated[float, option("--days", metavar="N", help="How long the signature of the index holds.")]
Keys = Annotated[
    list[Path],
    option("--key", "-k", metavar="FILE", help="Public key (.pub) or allowed_signers file; may be repeated."),
]


@app.command()
def publish(
    wheels: Annotated[list[Path], argument(help="Wheels to publish.")],
    to: Annotated[
        str,
        option(
            "--to",
            metavar="INDEX",
            help="Folder of the static index, made where it is not there; s3://BUCKET/PREFIX; oci://HOST/REPOSITORY; or an"
            " upload URL.",
        ),
    ],
    replace: Annotated[
        bool, option("--replace", help="Allow other bytes under a published name: only for an index of your own.")
    ] = False,
    older: Annotated[bool, option("--older", help="Allow a version below the highest one that is published.")] = False,
    variants: Annotated[
        bool,
        option(
            "--variants", help="Experimental: take wheel variants, too (PEP 825, a draft), each beside its plain wheel."
        ),
    ] = False,
    url: Annotated[str, option("--url", metavar="URL", help="Where the index is served: for the install lines.")] = "",
    sign: SignIndexOption = None,
    unsigned: UnsignedOption = False,
    days: Days = 90.0,
    at_least: LowestNumber = 0,
    attest: Annotated[
        bool,
        option("--attest", help="Sign an upload's wheels by Sigstore, as this job's identity (PEP 740)."),
    ] = False,
    check_install: Annotated[
        str,
        option("--check-install", metavar="PYTHONS", help="Which file does each Python get? As 3.11 or 3.10..3.14."),
    ] = "",
    json: JsonOption = False,
) -> None:
    """Put wheels on a static index that pip and uv install from.

    All appear at once. A published file name never changes its content. What lies beside a wheel as WHEEL.provenance.json,
    WHEEL.verification.json or WHEEL.benchmarks.json goes with it.

    Exit 5 where `--check-install` finds a Python that gets no file.

    Example: stackbuild publish wheels/*.whl --to dist/simple --sign release.key
    """
    import dataclasses

    from stackbuild.core.errors import UsageError
    from stackbuild.publishing import index
    from stackbuild.publishing.attestations import ambient_signer, put_attestations
    from stackbuild.publishing.install_check import check_installs, python_versions
    from stackbuild.publishing.object_store import is_object_url
    from stackbuild.publishing.upload import is_url, upload
    from stackbuild.views.console import print_json
    from stackbuild.views.publishing import draw_installs, draw_published, draw_uploaded

    for wheel in wheels:
        if not wheel.is_file():
            raise UsageError("no such wheel", where=str(wheel), next="give the path of a .whl file")
    pythons = python_versions(check_install)
    if is_url(to):
        if sign or pythons or url:
            raise UsageError(
                "an upload takes neither --sign nor --check-install nor --url",
                next="publish to a folder with them, and upload its wheels afterwards",
            )
        with ambient_signer() if attest else nullcontext() as signer:
            attestations = put_attestations(wheels, signer) if signer else ()
        uploaded = upload(tuple(wheels), to, attestations)
        print_json(uploaded, "stackbuild.upload/1") if json else draw_uploaded(uploaded)
        return
    if attest:
        raise UsageError(
            "--attest is for an upload: no installer looks for attestations on another index",
            where=to,
            next="leave it out, and add `--sign KEY`",
        )
    if to.startswith(REGISTRY_SCHEMES):
        if pythons or url:
            raise UsageError(
                "a registry takes neither --check-install nor --url: no installer reads wheels from one",
                next="publish to a folder with them",
            )
        settings = _publication(sign, unsigned, days, replace=replace, older=older, wheels=wheels)
        _publish_artifacts(tuple(wheels), to, settings, json)
        return
    _refuse_scheme(to)
    settings = _publication(
        sign, unsigned, days, at_least, replace=replace, older=older, url=url, wheels=wheels, variants=variants
    )
    if is_object_url(to):
        if pythons:
            raise UsageError("--check-install takes a folder", where=to, next="publish to a folder with it first")
        with _open_index(to, sign) as folder:
            receipt = dataclasses.replace(index.publish(tuple(wheels), folder, settings), index=to)
    else:
        with _open_index(to, sign) as folder:
            receipt = index.publish(tuple(wheels), folder, settings)
    installs = check_installs(receipt, pythons) if pythons else ()
    if json:
        print_json({"receipt": receipt, "installs": installs} if pythons else receipt, "stackbuild.receipt/2")
    else:
        draw_published(receipt)
        draw_installs(installs)
    if any(not one.file for one in installs):
        leave(5)


def _publish_artifacts(wheels: tuple[Path, ...], url: str, settings: Publication, json: bool) -> None:
    from stackbuild.core.errors import MachineLacks, UsageError
    from stackbuild.remote.connection import open_writer
    from stackbuild.remote.faults import RemoteFault
    from stackbuild.remote.release import push_release
    from stackbuild.runners.engine import registry_login
    from stackbuild.views.console import err, print_json
    from stackbuild.views.publishing import draw_artifacts

    if ":" in url.partition("://")[2].partition("/")[2] or "@" in url:
        raise UsageError(
            "a tag or a login stands in the URL",
            where=url,
            next="give oci://HOST/REPOSITORY; each release gets the tag PROJECT-VERSION",
        )
    try:
        with err().status("connecting …") as status:
            artifacts = push_release(wheels, open_writer(url, registry_login), settings, status.update)
    except RemoteFault as fault:
        raise MachineLacks(
            f"the registry did not take the release: {fault}",
            where=url,
            next="check the URL and `docker login HOST`; what was sent stays there, and the same command ends it",
        ) from None
    print_json(artifacts, "stackbuild.release-artifacts/1") if json else draw_artifacts(artifacts)


def _refuse_scheme(place: str) -> None:
    """A URL that is neither an upload URL nor an object store's is not a folder."""
    from stackbuild.core.errors import UsageError
    from stackbuild.publishing.object_store import SCHEMES, is_object_url

    if "://" in place and not is_object_url(place):
        raise UsageError(
            f"{place!r} is not a place for an index",
            next=f"give a folder, or a URL that begins with {' or '.join((*SCHEMES, *REGISTRY_SCHEMES))}",
        )


@contextmanager
def _open_index(place: str, sign: Sequence[Path] | None) -> Iterator[Path]:
    """The folder of an index to change it in; for one in an object store a working copy, which is written afterwards."""
    from stackbuild.publishing.index_numbers import IndexNumbers, default_numbers_file
    from stackbuild.publishing.object_store import connect, is_object_url, working_copy
    from stackbuild.views.console import err

    _refuse_scheme(place)
    if not is_object_url(place):
        with err().status("reading the signed index …") if sign else nullcontext():
            yield Path(place)
        return
    with (
        err().status("connecting …") as status,
        working_copy(connect(place), place, status.update, bool(sign), IndexNumbers(default_numbers_file())) as copy,
    ):
        yield copy.folder


def _publication(
    sign: Sequence[Path] | None,
    unsigned: bool,
    days: float,
    at_least: int = 0,
    replace: bool = False,
    older: bool = False,
    url: str = "",
    wheels: Sequence[Path] = (),
    variants: bool = False,
    keys: Sequence[Path] = (),
    accept_changes: bool = False,
) -> Publication:
    """What the options ask for, and the statements that lie beside the wheels."""
    from stackbuild.publishing.index_numbers import default_numbers_file
    from stackbuild.publishing.publication import Publication
    from stackbuild.publishing.signing import load_signing_key, load_trusted_keys
    from stackbuild.publishing.statements import NAMES, statement_name

    attached = {
        wheel: tuple(
            beside for kind in NAMES if (beside := wheel.with_name(statement_name(wheel.name, kind))).is_file()
        )
        for wheel in wheels
    }
    return Publication(
        numbers=default_numbers_file() if sign or unsigned else None,
        replace=replace,
        older=older,
        attached=attached,
        url=url,
        keys=tuple(load_signing_key(path) for path in sign or ()),
        unsigned=unsigned,
        days=days,
        trusted=load_trusted_keys(keys) if keys else (),
        accept_changes=accept_changes,
        at_least=at_least,
        variants=variants,
    )


@index.command("yank")
def yank(
    place: Index,
    project: ProjectName,
    version: Annotated[str, argument(help="The version to yank: all its files.")],
    reason: Annotated[str, option("--reason", metavar="TEXT", help="Why; installers print it.")] = "",
    sign: SignIndexOption = None,
    unsigned: UnsignedOption = False,
    days: Days = 90.0,
    at_least: LowestNumber = 0,
    json: JsonOption = False,
) -> None:
    """Take a version back.

    Installers leave it alone, but where it is asked for by `==` (PEP 592).

    Example: stackbuild index yank dist/simple onnxruntime-rocm 1.22.1 --reason "wrong results on gfx1100"
    """
    from stackbuild.publishing import maintenance

    with _open_index(place, sign) as folder:
        changed = maintenance.yank(folder, project, version, reason, _publication(sign, unsigned, days, at_least))
    _print_change(changed, f"yanked: {project} {version}", json)


@index.command("unyank")
def unyank(
    place: Index,
    project: ProjectName,
    version: Annotated[str, argument(help="The version that was yanked.")],
    sign: SignIndexOption = None,
    unsigned: UnsignedOption = False,
    days: Days = 90.0,
    at_least: LowestNumber = 0,
    json: JsonOption = False,
) -> None:
    """Offer a yanked version again.

    Example: stackbuild index unyank dist/simple onnxruntime-rocm 1.22.1
    """
    from stackbuild.publishing import maintenance

    with _open_index(place, sign) as folder:
        changed = maintenance.yank(folder, project, version, None, _publication(sign, unsigned, days, at_least))
    _print_change(changed, f"offered again: {project} {version}", json)


@index.command("status")
def status(
    place: Index,
    project: ProjectName,
    value: Annotated[str, argument(metavar="STATUS", help="active, archived, deprecated or quarantined (PEP 792).")],
    reason: Annotated[str, option("--reason", metavar="TEXT", help="Why; the page shows it.")] = "",
    sign: SignIndexOption = None,
    unsigned: UnsignedOption = False,
    days: Days = 90.0,
    at_least: LowestNumber = 0,
    json: JsonOption = False,
) -> None:
    """Set a project's status. The page of a quarantined project offers no file.

    Example: stackbuild index status dist/simple onnxruntime-rocm quarantined --reason "the key was stolen"
    """
    from typing import get_args

    from stackbuild.core.errors import UsageError
    from stackbuild.publishing import maintenance
    from stackbuild.publishing.catalog import ProjectStatus

    if value not in get_args(ProjectStatus):
        raise UsageError(f"no status {value!r}", next=f"statuses are {', '.join(get_args(ProjectStatus))}")
    settings = _publication(sign, unsigned, days, at_least)
    with _open_index(place, sign) as folder:
        changed = maintenance.set_status(folder, project, value, reason, settings)  # type: ignore[arg-type]
    _print_change(changed, f"{value}: {project}", json)


@index.command("quarantine")
def quarantine(
    place: Index,
    project: ProjectName,
    reason: Annotated[str, option("--reason", metavar="TEXT", help="Why; the page shows it.")] = "",
    sign: SignIndexOption = None,
    unsigned: UnsignedOption = False,
    days: Days = 90.0,
    at_least: LowestNumber = 0,
    json: JsonOption = False,
) -> None:
    """Offer no file of a project.

    Until its status is set to active again; the bytes stay.

    Example: stackbuild index quarantine dist/simple onnxruntime-rocm --reason "the key was stolen"
    """
    from stackbuild.publishing import maintenance

    with _open_index(place, sign) as folder:
        changed = maintenance.set_status(
            folder, project, "quarantined", reason, _publication(sign, unsigned, days, at_least)
        )
    _print_change(changed, f"quarantined: {project}", json)


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

    if not sign:
        raise UsageError("no key is given", next="add `--sign KEY`; `ssh-keygen -t ed25519 -f release.key` makes one")
    if add and accept_changes:
        raise UsageError(
            "--add signs what others have signed, and nothing else",
            next="leave out --add: the index is signed anew, and the others add their signatures again",
        )
    settings = _publication(sign, False, days, at_least, keys=key or (), accept_changes=accept_changes)
    with _open_index(place, sign) as folder:
        changed = (
            maintenance.cosign(folder, settings.keys, settings.trusted, IndexNumbers(default_numbers_file()), at_least)
            if add
            else maintenance.sign(folder, settings)
        )
    _print_change(changed, "signed", json)


@index.command("check")
def check(
    folder: Folder,
    rebuild: Annotated[
        bool,
        option("--rebuild", help="Make the catalog again from the wheels that the last pages name; yanks are lost."),
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

    with err().status("reading the index …"):
        if rebuild:
            maintenance.rebuild(folder, _publication(sign, False, 90.0))
        problems = maintenance.damages(folder)
    print_json(problems, "stackbuild.index-check/1") if json else draw_problems(problems, "the index is whole")
    if problems:
        leave(7)


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
            "--require", metavar="KINDS", help="What each wheel must have: provenance, verification, benchmarks, sbom."
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
    json: JsonOption = False,
) -> None:
    """Check a signed index against keys that you trust.

    It needs no network. Every page, wheel, SBOM and statement is read against the signed list. An older state, an expired one and one that was
    added to are refused. Exit 5 where anything is wrong.

    Example: stackbuild verify-release dist/simple --key release.key.pub
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.publishing.index_numbers import default_numbers_file
    from stackbuild.publishing.signing import load_trusted_keys
    from stackbuild.publishing.statements import NAMES
    from stackbuild.publishing.verify_release import Trust, verify_release
    from stackbuild.views.console import err, print_json
    from stackbuild.views.publishing import draw_release_proof

    kinds = tuple(word for word in require.split(",") if word)
    if unknown := [kind for kind in kinds if kind not in (*NAMES, "sbom")]:
        raise UsageError(f"no kind {unknown[0]!r}", next=f"kinds are {', '.join(NAMES)}, sbom")
    state = None if no_seen else numbers_file or default_numbers_file()
    with err().status("reading the index …"):
        proof = verify_release(folder, Trust(load_trusted_keys(key), threshold, state, kinds, at_least))
    print_json(proof, "stackbuild.release-proof/1") if json else draw_release_proof(proof)
    if proof.problems:
        leave(5)
