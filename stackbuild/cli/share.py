"""`store push|export|pull|conflicts`, `store trust …`: what a store shares with others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from stackbuild.cli.app import AllowPath, App, JsonOption, RecipeName, argument, leave, option
from stackbuild.cli.completion import recipes
from stackbuild.cli.store import store

if TYPE_CHECKING:
    from stackbuild.remote.protocol import RemoteWriter
    from stackbuild.store.records import Record
    from stackbuild.store.store import Store

trust = App(
    name="trust", no_args_is_help=True, help="Whose outputs are taken from which remote.", rich_markup_mode=None
)
store.add_typer(trust)

Url = Annotated[
    str, argument(metavar="URL", help="oci://HOST/REPOSITORY, oci+http://…, https://…, http://… or file:///…")
]
SignRecordsOption = Annotated[
    Path,
    option(
        "--sign",
        metavar="KEY",
        help="OpenSSH ed25519 private key (`ssh-keygen -t ed25519`) that signs the records. Its passphrase comes from"
        " $STACKBUILD_KEY_PASSPHRASE.",
    ),
]
OneRecipe = Annotated[
    str,
    option(
        "--recipe",
        "-r",
        metavar="R",
        help="Only what this recipe's latest build made; all outputs without it.",
        autocompletion=recipes,
    ),
]
CheckOption = Annotated[
    bool, option("--check", help="Read back what is there already; replace what is damaged there by another blob.")
]


@store.command("push")
def push(
    url: Url, sign: SignRecordsOption, recipe: OneRecipe = "", check: CheckOption = False, json: JsonOption = False
) -> None:
    """Put outputs that were made here on a remote, signed.

    Outputs that came from a remote are left out: who signs says that it made them. A push that was stopped resumes where it was. The login is
    that of `docker login HOST`. Exit 5 where this key has signed another output of a step there, else 7 where the remote did not take an output.

    Example: stackbuild store push oci://ghcr.io/acme/stackbuild --sign build.key --recipe debian-13
    """
    from stackbuild.core.errors import MachineLacks
    from stackbuild.remote.connection import open_writer
    from stackbuild.remote.faults import RemoteFault
    from stackbuild.runners.engine import registry_login

    try:
        writer = open_writer(url, registry_login)
    except RemoteFault as fault:
        raise MachineLacks(f"the remote cannot be written: {fault}", where=url, next="check the URL") from None
    _send(writer, sign, recipe, check, json)


@store.command("export")
def export(
    folder: Annotated[Path, argument(metavar="DIR", help="The folder; made where it is not there, else added to.")],
    sign: SignRecordsOption,
    recipe: OneRecipe = "",
    check: CheckOption = False,
    json: JsonOption = False,
) -> None:
    """Write outputs as signed files for any web server.

    Others read it as https://HOST/PATH, or file:///DIR. It can only be read by them. Exit codes are those of `store push`.

    Example: stackbuild store export /srv/www/stackbuild --sign build.key
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.remote.faults import RemoteFault
    from stackbuild.remote.files import ExportFolder

    place = folder.absolute()
    try:
        writer = ExportFolder(place.as_uri(), place, is_written=True)
    except (RemoteFault, OSError) as error:
        raise UsageError(f"it cannot be written: {error}", where=str(folder), next="name another folder") from None
    _send(writer, sign, recipe, check, json)


def _send(writer: RemoteWriter, sign: Path, recipe: str, check: bool, json: bool) -> None:
    from stackbuild.publishing.ssh_keys import load_signing_key
    from stackbuild.remote.pull import STRIKES
    from stackbuild.remote.push import Push, Pusher, made_here
    from stackbuild.store.maintenance import records
    from stackbuild.store.read_only import open_to_read
    from stackbuild.views.console import err, print_json
    from stackbuild.views.share import SentBytes, draw_next_of_conflicts, draw_pushes, push_line

    key = load_signing_key(sign)
    pushes: list[Push] = []
    with open_to_read() as local_store:
        stored_records = tuple(records(local_store))
        rows = [row for row in made_here(stored_records) if not recipe or row[0].key in _latest(recipe, local_store)]
        came = sum("remote" in record.notes for record in stored_records)
        with err().status("pushing …") as status:
            pusher = Pusher(local_store, writer, key, check)
            for number, (record, content_key) in enumerate(rows, 1):
                line = push_line(number, len(rows), record)
                pusher.count = SentBytes(line, status.update).add
                status.update(line)
                pushes.append(pusher.push(record, content_key))
                if pusher.strikes == STRIKES:
                    break
        writer.close()
    if json:
        print_json({"remote": writer.url, "outputs": pushes, "of": len(rows)}, "stackbuild.store-push/1")
    else:
        draw_pushes(pushes, len(rows), came, writer.url)
    draw_next_of_conflicts(pushes, writer.url)
    if any(one.outcome == "conflict" for one in pushes):
        leave(5)
    if any(one.outcome in ("failed", "damaged") for one in pushes):
        leave(7)


def _latest(recipe: str, local_store: Store) -> frozenset[str]:
    """The keys of the latest outputs of a recipe."""
    from stackbuild.recipe.load import load

    return frozenset(record.key for record in local_store.latest(load(recipe).recipe.name))


@store.command("pull")
def pull(
    recipe: RecipeName,
    remote: Annotated[
        str,
        option("--remote", metavar="URL", help="Ask this remote alone; default: those of `stackbuild store trust ls`."),
    ] = "",
    trust_files: Annotated[
        list[Path] | None,
        option("--trust", metavar="FILE", help="Public key whose records of --remote count; may be repeated."),
    ] = None,
    everything: Annotated[
        bool, option("--all", help="Every step of the recipe, also those that only others need.")
    ] = False,
    allow_path: AllowPath = None,
    json: JsonOption = False,
) -> None:
    """Take a recipe's outputs from remotes into the store.

    `build` does the same before it runs a step. Exit 10 where steps are left to run.

    Example: stackbuild store pull --recipe debian-13 --remote https://builds.acme.org/sb --trust acme.pub
    """
    from stackbuild.build.sharing import pull_plan
    from stackbuild.cli.recipe_options import choice_of
    from stackbuild.cli.shared_options import chosen_remotes
    from stackbuild.core.errors import UsageError
    from stackbuild.recipe.prepare import prepare
    from stackbuild.remote.settings import settings_path
    from stackbuild.views.build import PlainView
    from stackbuild.views.console import err, print_json
    from stackbuild.views.share import draw_pulled

    prepared_recipe = prepare(recipe, choice_of(None, ""), allow_path or ())
    settings = chosen_remotes(remote, trust_files or [], no_remote=False)
    if not any(one.read for one in settings.remotes):
        raise UsageError(
            "no key is trusted for any remote",
            where=str(settings_path()),
            next="stackbuild store trust add URL KEY.pub",
        )
    with err().status("asking the remotes …"):
        report = pull_plan(prepared_recipe, settings, everything, PlainView())
    if json:
        print_json({"taken": report.steps, "left": report.remaining_steps}, "stackbuild.store-pull/1")
    else:
        draw_pulled(report)
    if report.remaining_steps:
        leave(10)


@store.command("conflicts")
def conflicts(
    url: Url,
    key: Annotated[
        list[Path] | None,
        option(
            "--key", "-k", metavar="FILE", help="Public key whose records count; default: those trusted for the remote."
        ),
    ] = None,
    recipe: OneRecipe = "",
    json: JsonOption = False,
) -> None:
    """Find outputs that differ between this store and a remote.

    A key with two outputs is a step that is not reproducible, or a builder that lies. Exit 5 if there is any, else 7
    where signatures could not be read.

    Example: stackbuild store conflicts oci://ghcr.io/acme/stackbuild
    """
    from datetime import UTC, datetime

    from stackbuild.core.errors import MachineLacks, UsageError
    from stackbuild.publishing.ssh_keys import load_trusted_keys
    from stackbuild.remote.connection import open_reader
    from stackbuild.remote.faults import RemoteFault
    from stackbuild.remote.push import disagreements
    from stackbuild.remote.settings import read_settings
    from stackbuild.runners.engine import registry_login
    from stackbuild.store.maintenance import records
    from stackbuild.store.read_only import open_to_read
    from stackbuild.store.records import CONTENT
    from stackbuild.views.console import Text, err, print_json
    from stackbuild.views.share import draw_conflicts, draw_unread

    keys = load_trusted_keys(key) if key else read_settings().of(url).trusted_keys()
    if not keys:
        raise UsageError("no key is trusted for this remote", where=url, next="add --key FILE.pub")
    refusals = [refusal for one in keys if (refusal := one.refusal(datetime.now(UTC)))]
    if len(refusals) == len(keys):
        raise UsageError(f"no key counts now: {'; '.join(refusals)}", where=url, next="add --key FILE.pub")
    for refusal in refusals:
        err().print(Text(f"{refusal}: nothing that it signed counts", "yellow"))
    with open_to_read() as local_store, err().status("asking the remote …"):
        latest = _latest(recipe, local_store) if recipe else None
        rows: tuple[Record, ...] = tuple(
            record
            for record in records(local_store)
            if not record.key_text.startswith(CONTENT) and (latest is None or record.key in latest)
        )
        unread: list[str] = []
        try:
            reader = open_reader(url, registry_login)
            conflicts_seen = tuple(disagreements(rows, reader, keys, unread.append))
            reader.close()
        except RemoteFault as fault:
            raise MachineLacks(
                f"the remote cannot be asked: {fault}", where=url, next="check the URL and try again"
            ) from None
    draw_unread(unread)
    print_json(conflicts_seen, "stackbuild.store-conflicts/1") if json else draw_conflicts(conflicts_seen, len(rows), unread)
    if conflicts_seen:
        leave(5)
    if unread:
        leave(7)


@store.command("forget")
def forget(
    signed_by: Annotated[
        str, option("--signed-by", metavar="SHA256:…", help="Outputs whose record this key has signed.")
    ] = "",
    origin: Annotated[str, option("--from", metavar="URL", help="Outputs that came from this remote.")] = "",
    dry_run: Annotated[bool, option("--dry-run", help="Show them; remove none.")] = False,
    json: JsonOption = False,
) -> None:
    """Remove what a stolen key signed.

    All that was made from it, the caches and the results of verifications and benchmarks go too. The next build makes
    these outputs again: no remote gives them to this store any more, also under another key. Warnings name outputs that
    may be on remotes under your own key, and those of which it is not known what they were made from.

    Example: stackbuild store forget --signed-by SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU
    """
    from stackbuild.core.errors import UsageError
    from stackbuild.remote.revoke import revoke, tainted_records, unknown_records
    from stackbuild.store.read_only import open_to_read
    from stackbuild.store.store import open_store
    from stackbuild.views.console import print_json
    from stackbuild.views.share import draw_forgotten, draw_made_here, draw_unknown

    if bool(signed_by) == bool(origin):
        raise UsageError("name a key or a remote", next="give one of --signed-by and --from")
    with open_to_read() if dry_run else open_store() as local_store:
        rows = (tainted_records if dry_run else revoke)(local_store, signed_by, origin)
        tainted_keys = {row.key for row in rows}
        unknown_outputs = tuple(record for record in unknown_records(local_store) if record.key not in tainted_keys)
    print_json(rows, "stackbuild.store-forget/1") if json else draw_forgotten(rows, dry_run)
    draw_made_here(rows)
    draw_unknown(unknown_outputs)


@trust.command("ls")
def trust_ls(json: JsonOption = False) -> None:
    """List the remotes that are asked, with the keys that count.

    Example: stackbuild store trust ls
    """
    from stackbuild.remote.settings import read_settings, settings_path
    from stackbuild.views.console import print_json
    from stackbuild.views.share import draw_hindrances, draw_trust, trust_rows

    settings = read_settings()
    rows = trust_rows(settings)
    print_json(rows, "stackbuild.store-trust/1") if json else draw_trust(rows, settings_path())
    draw_hindrances(settings)


@trust.command("add")
def trust_add(
    url: Url,
    keys: Annotated[list[Path], argument(metavar="FILE", help="Public key (.pub) or allowed_signers file.")],
    threshold: Annotated[
        int,
        option("--threshold", metavar="N", min=0, max=16, help="So many keys must have signed one output; 0 keeps it."),
    ] = 0,
) -> None:
    """Take outputs from a remote where one of these keys has signed them.

    Builds then ask it before they run a step. A key that is there already is replaced: its `valid-before` may have changed. One remote is one entry,
    however its URL is spelled.

    Example: stackbuild store trust add https://builds.acme.org/sb acme.pub
    """
    from stackbuild.remote.settings import Settings, add_keys, settings_path
    from stackbuild.views.console import out
    from stackbuild.views.share import draw_hindrances

    change = add_keys(url, keys, threshold)
    count = len(change.trusted_keys())
    message = f"{count} {'keys are' if count != 1 else 'key is'} trusted for {change.url} ({settings_path()})"
    out().print(message, markup=False)
    draw_hindrances(Settings(remotes=(change,)))


@trust.command("remove")
def trust_remove(
    url: Url,
    fingerprint: Annotated[
        str, argument(metavar="SHA256:…", help="The key's fingerprint; none removes the remote.")
    ] = "",
) -> None:
    """Trust a key no more, or ask a remote no more.

    What was taken from it stays in the store: `stackbuild store forget` removes that.

    Example: stackbuild store trust remove https://builds.acme.org/sb
    """
    from stackbuild.remote.settings import Settings, remove_keys
    from stackbuild.views.console import out
    from stackbuild.views.share import draw_hindrances

    remaining_remote = remove_keys(url, fingerprint)
    count = len(remaining_remote.trusted_keys()) if remaining_remote else 0
    answer = f"{count} key{'s' * (count != 1)} left" if remaining_remote else "removed"
    out().print(f"{url}: {answer}", markup=False)
    if remaining_remote:
        draw_hindrances(Settings(remotes=(remaining_remote,)))
