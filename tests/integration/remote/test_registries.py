"""Remotes over HTTP: Debian's docker-registry, an export on a web server, logins, and the commands between two stores."""

from __future__ import annotations

import base64
import functools
import io
import json
import os
import shutil
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from measure_remote import registry

from stackbuild.core import digest
from stackbuild.remote import registry as registry_module
from stackbuild.remote.files import ExportFolder, WebFolder
from stackbuild.remote.http import HttpClient
from stackbuild.remote.pull import STRIKES
from stackbuild.remote.push import MOST_ABSENCES, Pusher
from stackbuild.remote.registry import OciRegistry
from support.build_bench import BuildBench, ensure_base, link_store
from support.paths import ROOT
from support.remotes import (
    QUICK,
    Answer,
    FakeRegistry,
    Said,
    a_key,
    asked,
    exported,
    key_files,
    open_at,
    puller,
    push_all,
    put,
    trusted,
)
from support.wheels import put_statements, small_wheel

needs_registry = pytest.mark.skipif(not shutil.which("docker-registry"), reason="not installed: docker-registry")


@pytest.fixture
def debian(tmp_path: Path) -> Iterator[tuple[HttpClient, Path]]:
    """Debian's docker-registry on loopback: a client of one repository, and the folder of its blobs."""
    with registry(tmp_path) as served:
        root = f"http://127.0.0.1:{served.port}/v2/team/sb/"
        yield HttpClient(root, lambda host: None, QUICK), tmp_path / "registry" / "docker/registry/v2/blobs"


@needs_registry
def test_docker_registry(debian: tuple[HttpClient, Path], tmp_path: Path) -> None:
    """Push, nothing to push, pull; then a blob that its disk damages, which it serves with status 200, and the repair."""
    client, blobs = debian
    writer = OciRegistry("oci+http://debian", client, is_written=True)
    builder, said = open_at(tmp_path / "builder"), Said()
    record = put(builder)
    assert [one.outcome for one in push_all(builder, writer)] == ["pushed"]
    assert client.request_count <= 30  # three packs
    before = client.request_count
    assert [one.outcome for one in push_all(builder, writer)] == ["there"]
    assert client.request_count == before + 2  # the lists of its key and of its content key
    first = open_at(tmp_path / "first")
    assert puller(first, writer, said).pull(asked()) is not None and not said.lines
    assert first.check(record.tree) == ""

    (largest,) = sorted(blobs.rglob("data"), key=lambda path: path.stat().st_size)[-1:]
    data = bytearray(largest.read_bytes())
    data[1000] ^= 1
    largest.write_bytes(data)
    second = open_at(tmp_path / "second")
    assert puller(second, writer, said).pull(asked()) is None
    assert (
        "damaged" in said.warnings[0]
        or "cannot be inflated" in said.warnings[0]
        or "another content" in said.warnings[0]
    )
    assert [one.outcome for one in push_all(builder, writer, check=True)] == ["pushed"]
    assert puller(open_at(tmp_path / "third"), writer, said).pull(asked()) is not None


def sent_in_spite_of_a_break(writer: OciRegistry, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many bytes go to a registry for a blob of 3 MB whose connection breaks once, after a third."""
    monkeypatch.setattr(registry_module, "WHOLE", 1000)
    data = bytes(range(256)) * 12_000
    sent, breaks = 0, 1

    def count(size: int) -> None:
        nonlocal sent, breaks
        sent += size
        if sent > 1_000_000 and breaks:
            breaks = 0
            writer.abort()

    writer.put_blob(digest.of_bytes(data), io.BytesIO(data), len(data), count)
    assert writer.blob_size(digest.of_bytes(data)) == len(data) and not breaks
    return sent


def test_a_large_blob_goes_on_where_its_upload_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeRegistry().served() as server:
        assert sent_in_spite_of_a_break(server.writer(), monkeypatch) < 3_072_000 + 1_200_000


@needs_registry
def test_debians_registry_gets_a_large_blob_in_spite_of_a_break(
    debian: tuple[HttpClient, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not go on with an upload that broke within a request: the blob is sent again."""
    client, _ = debian
    sent_in_spite_of_a_break(OciRegistry("oci+http://debian", client, is_written=True), monkeypatch)


def test_a_registry_that_never_sees_a_blob_ends_a_push(tmp_path: Path) -> None:
    """It costs all tries for the first outputs only, then one try for each until the push ends."""
    puts: list[str] = []

    def fault(method: str, path: str, registry: FakeRegistry) -> Answer | None:
        if method != "PUT" or "/manifests/" not in path:
            return None
        puts.append(path)
        return Answer(400, {}, b'{"errors": [{"code": "MANIFEST_BLOB_UNKNOWN"}]}')

    builder = open_at(tmp_path / "builder")
    rows = [put(builder, f"step: {number}\n", "", number, large=0) for number in range(12)]
    with FakeRegistry(fault=fault).served() as registry:
        pusher = Pusher(builder, registry.writer(), a_key())
        outcomes = []
        while pusher.strikes < STRIKES and rows:
            outcomes.append(pusher.push(rows.pop(), "").outcome)
    assert outcomes == ["failed"] * (MOST_ABSENCES + STRIKES)
    assert len(puts) == MOST_ABSENCES * QUICK.writes + STRIKES
    builder.close()


@contextmanager
def web(folder: Path) -> Iterator[str]:
    """A plain web server on that folder."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def test_an_export_on_a_web_server(tmp_path: Path) -> None:
    builder = open_at(tmp_path / "builder")
    record = put(builder)
    builder.close()
    exported(tmp_path / "builder", tmp_path / "www" / "sb")
    with web(tmp_path / "www") as url:
        reader = WebFolder(f"{url}sb", HttpClient(f"{url}sb/", lambda host: None, QUICK))
        store, said = open_at(tmp_path / "user"), Said()
        assert puller(store, reader, said).pull(asked("step: other\n")) is None and not said.lines
        assert puller(store, reader, said).pull(asked()) is not None
        assert store.check(record.tree) == ""
        tags = {path.name for path in (tmp_path / "www" / "sb" / "manifests").glob("*/*")}
        assert reader.tags() == {tag for tag in tags if "." not in tag}


@pytest.mark.parametrize("page", [1000, 7, 1])
def test_the_tags_of_a_registry_are_listed_page_by_page(page: int) -> None:
    registry = FakeRegistry(manifests={f"r-{number:064}": b"" for number in range(23)}, page=page)
    with registry.served():
        tags = registry.reader().tags()
        assert tags == registry.manifests.keys()
        assert len(registry.seen) == -(-23 // page)


def test_a_list_of_tags_that_may_be_cut_is_not_used() -> None:
    registry = FakeRegistry(manifests={f"r-{number:064}": b"" for number in range(200)})
    with registry.served():
        assert registry.reader().tags() is None  # 200 and no next page: a limit of that server, for all one knows
        registry.manifests.popitem()
        assert len(registry.reader().tags() or ()) == 199
        registry.page = 1
        assert registry.reader().tags() is None  # too many pages
        registry.has_list = False
        assert registry.reader().tags() is None


def test_misses_go_over_one_connection() -> None:
    registry = FakeRegistry()
    with registry.served():
        reader = registry.reader()
        assert [reader.manifest(f"r-{number:064}", 100) for number in range(20)] == [None] * 20
        assert len(registry.peers) == 1


def test_a_server_that_is_not_there_costs_one_warning(tmp_path: Path) -> None:
    store, said = open_at(tmp_path / "store"), Said()
    nobody = OciRegistry("oci://nobody", HttpClient("http://127.0.0.1:9/v2/x/", lambda host: None, QUICK))
    pulls = puller(store, nobody, said)
    assert [pulls.pull(asked(f"step: {number}\n")) for number in range(20)] == [None] * 20
    assert len(said.warnings) == 1 and "it cannot be reached" in said.warnings[0]


@pytest.mark.parametrize("kind", ["Basic", "Bearer"])
def test_a_login(kind: str, tmp_path: Path) -> None:
    """The login of `docker login` goes to the registry that asks, or to its token server, and to nobody else."""
    seen: list[tuple[str, str]] = []
    basic = "Basic " + base64.b64encode(b"me:secret").decode()

    def fault(method: str, path: str, registry: FakeRegistry) -> Answer | None:
        said = registry.headers.get("Authorization", "")
        seen.append((path, said))
        if path.startswith("/token"):
            assert "scope=repository%3At%2Fsb%3Apull" in path
            return Answer(200, body=b'{"token": "abc"}') if said == basic else Answer(401)
        if said == (basic if kind == "Basic" else "Bearer abc"):
            return None
        realm = (
            f'Bearer realm="http://127.0.0.1:{registry.port}/token",service="s"'
            if kind == "Bearer"
            else 'Basic realm="s"'
        )
        return Answer(401, {"WWW-Authenticate": realm})

    builder = open_at(tmp_path / "builder")
    put(builder)
    with FakeRegistry(fault=fault).served() as server:
        client = HttpClient(f"http://127.0.0.1:{server.port}/v2/t/sb/", lambda host: ("me", "secret"), QUICK)
        assert [p.outcome for p in push_all(builder, OciRegistry("oci://x", client, is_written=True))] == ["pushed"]
        first = len(seen)
        assert puller(open_at(tmp_path / "user"), OciRegistry("oci://x", client), Said()).pull(asked()) is not None
    assert sum(not said for _, said in seen) <= 2 and len(seen) > first
    assert {said for path, said in seen if path.startswith("/token")} <= {basic}


def test_a_login_is_not_sent_to_where_one_is_redirected(tmp_path: Path) -> None:
    with FakeRegistry().served() as thief, FakeRegistry().served() as server:
        headers: list[str] = []
        thief.fault = lambda method, path, registry: (
            headers.append(registry.headers.get("Authorization", "")) or Answer(404)
        )

        def fault(method: str, path: str, registry: FakeRegistry) -> Answer:
            if not registry.headers.get("Authorization"):
                return Answer(401, {"WWW-Authenticate": 'Basic realm="s"'})
            return Answer(307, {"Location": f"http://127.0.0.1:{thief.port}{path}"})

        server.fault = fault
        client = HttpClient(f"http://127.0.0.1:{server.port}/v2/t/sb/", lambda host: ("me", "secret"), QUICK)
        assert OciRegistry("oci://x", client).manifest(asked().tag, 1000) is None
    assert headers == [""]


def test_a_token_server_on_plain_http_gets_no_login(tmp_path: Path) -> None:
    """A registry names the server that tokens come from: one that others can listen to is not asked."""
    challenge = Answer(401, {"WWW-Authenticate": 'Bearer realm="http://192.0.2.1/token"'})
    with FakeRegistry(fault=lambda method, path, registry: challenge).served() as server:
        client = HttpClient(f"http://127.0.0.1:{server.port}/v2/t/sb/", lambda host: ("me", "secret"), QUICK)
        said = Said()
        assert puller(open_at(tmp_path / "s"), OciRegistry("oci://x", client), said).pull(asked()) is None
    assert "HTTP 401" in said.warnings[0]


def stackbuild(store: Path, *words: str, check: int = 0) -> str:
    """The output of a command on a store."""
    env = {**os.environ, "STACKBUILD_STORE": str(store), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "stackbuild", *words], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == check and "Traceback" not in done.stderr, f"{done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.sandbox
def test_two_machines(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One builds and exports; the other trusts, builds nothing, and says where its output came from; then it forgets."""
    base = ensure_base(tmp_path_factory.mktemp("base"))
    steps = "  one: {kind: script, run: [[sh, -c, 'echo one > /out/a']]}\n  two: {kind: script, needs: [one], run: [[cp, /deps/one/a, /out/b]]}\n"
    benches = []
    for name in ("builder", "user"):
        bench = BuildBench(tmp_path / name, tmp_path / name / "store")
        bench.root.mkdir()
        link_store(base / "store", bench.store)
        shutil.copy(base / "t.lock.yaml", bench.root / "t.lock.yaml")
        bench.write(steps)
        benches.append(bench)
    builder, user = benches
    private, public = key_files(tmp_path)
    remote = f"file://{tmp_path}/shared"
    recipe = ("--recipe", str(user.recipe))
    builder.build()
    said = json.loads(
        stackbuild(
            builder.store,
            "store",
            "export",
            str(tmp_path / "shared"),
            "--sign",
            str(private),
            "--recipe",
            str(builder.recipe),
            "--json",
        )
    )
    outcomes = {one["step"]: one["outcome"] for one in said["outputs"]}
    assert outcomes.pop("base") in ("pushed", "refused")  # a base that an older stackbuild made has setgid files
    assert outcomes == {"one": "pushed", "two": "pushed"}

    user.build("--fail-on-rebuild", "--no-remote", check=3)
    user.build("--fail-on-rebuild", "--remote", remote, "--trust", str(public))
    assert user.trees()["two"] == builder.trees()["two"] and "one" not in user.trees()
    told = json.loads(stackbuild(user.store, "explain", *recipe, "two", "--json"))["origin"]
    assert told["url"] == remote and trusted()[0].fingerprint in told["signed_by"]
    assert f"from {remote}" in " ".join(stackbuild(user.store, "explain", *recipe, "two").split())

    assert "1 key is trusted" in stackbuild(user.store, "store", "trust", "add", remote, str(public))
    assert json.loads(stackbuild(user.store, "store", "pull", *recipe, "--all", "--json"))["taken"] == ["one"]
    assert "no conflict" in stackbuild(user.store, "store", "conflicts", remote)
    assert "2 records removed" in stackbuild(user.store, "store", "forget", "--from", remote)
    stackbuild(user.store, "store", "trust", "remove", remote)
    user.build("--fail-on-rebuild", check=3)


@pytest.mark.sandbox
def test_a_store_on_a_read_only_mount_is_listed_and_exported(tmp_path: Path) -> None:
    """Nothing can be locked or marked there; what is damaged cannot go into quarantine."""
    store = open_at(tmp_path / "store")
    put(store)
    store.close()
    private, _ = key_files(tmp_path)

    def on_read_only_mount(*words: str) -> subprocess.CompletedProcess[str]:
        mount = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", str(tmp_path / "store"), str(tmp_path / "store"))
        env = {**os.environ, "STACKBUILD_STORE": str(tmp_path / "store"), "PYTHONPATH": str(ROOT)}
        command = [*mount, sys.executable, "-m", "stackbuild", *words]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, cwd=tmp_path)

    listing = on_read_only_mount("store", "ls", "--json")
    assert listing.returncode == 0, listing.stderr
    assert [row["step"] for row in json.loads(listing.stdout)["items"]] == ["s"]
    export = on_read_only_mount("store", "export", str(tmp_path / "export"), "--sign", str(private))
    assert export.returncode == 0 and "1 pushed" in export.stdout, export.stderr
    remote = f"file://{tmp_path}/export"
    conflicts = on_read_only_mount("store", "conflicts", remote, "--key", f"{private}.pub")
    assert conflicts.returncode == 0 and "no conflict" in conflicts.stdout, conflicts.stderr
    forget = on_read_only_mount("store", "forget", "--from", remote, "--dry-run")
    assert forget.returncode == 0 and "0 records would be removed" in forget.stdout, forget.stderr
    plan = on_read_only_mount("explain", "--recipe", "debian-13", "kernels", "--json")
    assert plan.returncode == 0, plan.stderr
    refusal = on_read_only_mount("store", "gc")
    assert refusal.returncode == 7 and "Read-only file system" in refusal.stderr
    reader = ExportFolder(remote, tmp_path / "export")
    assert puller(open_at(tmp_path / "user"), reader, Said()).pull(asked()) is not None


@needs_registry
def test_a_release_on_docker_registry_is_checked_by_hand(tmp_path: Path) -> None:
    """Published by the command, read by another client, checked with ssh-keygen and sha256sum alone."""
    private, public = key_files(tmp_path)
    wheel = small_wheel(tmp_path / "wheels", "1.0+rocm.6.4", content="x" * (33 << 20))
    put_statements(wheel)
    out = tmp_path / "pulled"
    out.mkdir()
    with registry(tmp_path) as served:
        url = f"oci://127.0.0.1:{served.port}/acme/wheels"
        words = [sys.executable, "-m", "stackbuild", "publish", str(wheel), "--to", url, "--sign", str(private)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        reference = done.stdout.strip()
        root = f"http://127.0.0.1:{served.port}/v2/acme/wheels"
        accept = {"Accept": "application/vnd.oci.image.manifest.v1+json"}
        manifests = [
            urllib.request.urlopen(urllib.request.Request(f"{root}/manifests/{name}", headers=accept)).read()
            for name in ("demo-pkg-1.0_rocm.6.4", reference.partition("@")[2])
        ]
        assert manifests[0] == manifests[1] and reference.endswith(digest.of_bytes(manifests[0]))
        for layer in json.loads(manifests[0])["layers"]:
            name = layer["annotations"]["org.opencontainers.image.title"]
            (out / name).write_bytes(urllib.request.urlopen(f"{root}/blobs/{layer['digest']}").read())
        unsigned = subprocess.run(words[:-2], capture_output=True, text=True, cwd=ROOT)
        assert unsigned.returncode == 2 and "is signed, and no key is given" in unsigned.stderr
    (tmp_path / "signers").write_text(f"me {public.read_text()}")
    verify = ["ssh-keygen", "-Y", "verify", "-f", "../signers", "-I", "me", "-n", "stackbuild", "-s", "SHA256SUMS.sig"]
    with (out / "SHA256SUMS").open() as sums:
        assert subprocess.run(verify, stdin=sums, cwd=out, stdout=subprocess.DEVNULL).returncode == 0
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out).returncode == 0
    assert (out / wheel.name).read_bytes() == wheel.read_bytes()
