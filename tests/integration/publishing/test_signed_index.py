"""Signed indexes and the tools of others: ssh-keygen, sha256sum, pip, uv, pypiserver."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from pypi_attestations import Attestation

from stackbuild.core.errors import UsageError, VerificationFailed
from stackbuild.publishing.attestations import put_attestations
from stackbuild.publishing.index import publish
from stackbuild.publishing.install_check import python_versions
from stackbuild.publishing.maintenance import set_status, yank
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import load_signing_key
from stackbuild.publishing.upload import upload
from support.wheels import SignedIndex, signed_index, small_wheel


@pytest.fixture
def signed(tmp_path: Path) -> SignedIndex:
    return signed_index(tmp_path)


def test_ssh_keygen_verifies_the_sums_by_hand(signed: SignedIndex, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed_signers"
    allowed.write_text("release@example.invalid " + signed.public.read_text())
    words = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "release@example.invalid", "-n", "stackbuild", "-s", "SHA256SUMS.sig"]
    sums = (signed.folder / "SHA256SUMS").read_bytes()
    assert subprocess.run(words, input=sums, cwd=signed.folder, capture_output=True, check=False).returncode == 0
    assert subprocess.run(words, input=sums + b"x", cwd=signed.folder, capture_output=True, check=False).returncode != 0
    done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=signed.folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_keys_that_ssh_keygen_makes_sign_and_one_with_a_passphrase_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, passphrase in (("plain", ""), ("locked", "correct horse")):
        path = tmp_path / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)], check=True)
        if passphrase:
            with pytest.raises(UsageError, match="the key has a passphrase"):
                load_signing_key(path)
            monkeypatch.setenv("STACKBUILD_KEY_PASSPHRASE", passphrase)
        key = load_signing_key(path)
        printed = subprocess.run(["ssh-keygen", "-lf", f"{path}.pub"], check=True, capture_output=True, text=True).stdout
        assert key.fingerprint in printed
    path.chmod(0o644)
    with pytest.raises(UsageError, match="others may read the private key"):
        load_signing_key(path)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder behind a plain web server on the loopback."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def venv_python(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin/python"


def installed_content(python: Path) -> str:
    words = [str(python), "-c", "import demo_pkg, pathlib; print(pathlib.Path(demo_pkg.__file__).read_text())"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_the_install_line_installs_these_bytes_whatever_other_indexes_offer(tmp_path: Path, tool: str) -> None:
    """Another index offers a higher version under the same name: dependency confusion."""
    mine = small_wheel(tmp_path / "mine", "1.0", content="'ours'")
    theirs = small_wheel(tmp_path / "theirs", "9.0", content="'theirs'")
    publish((theirs,), tmp_path / "public")
    publish((mine,), tmp_path / "simple")
    with served(tmp_path) as url:
        receipt = publish((mine,), tmp_path / "simple", Publication(url=f"{url}/simple"))
        python = venv_python(tmp_path / "venv")
        _, _, *requirements = shlex.split(receipt.install_line)
        tools = {
            "pip": [sys.executable, "-m", "pip", "--python", str(python), "install", "--isolated", "--quiet"],
            "uv": [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet", "--no-config", "--python", str(python)],
        }
        words = [*tools[tool], "--index-url", f"{url}/public/", *requirements]
        subprocess.run(words, check=True, env={**os.environ, "UV_CACHE_DIR": str(tmp_path / "uv")})
        assert installed_content(python) == "'ours'"
        (tmp_path / "simple/demo-pkg" / mine.name).write_bytes(theirs.read_bytes())
        other = venv_python(tmp_path / "venv2")
        words = [str(other) if word == str(python) else word for word in words]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "UV_CACHE_DIR": str(tmp_path / "uv2")})
        assert done.returncode != 0 and "hash" in (done.stdout + done.stderr).lower()


def test_yank_and_quarantine_are_what_installers_see(tmp_path: Path) -> None:
    one, two = small_wheel(tmp_path / "a", "1.0"), small_wheel(tmp_path / "a", "2.0")
    index = tmp_path / "simple"
    publish((one, two), index)

    def chosen(requirement: str) -> str:
        words = [sys.executable, "-m", "pip", "download", "--isolated", "--quiet", "--no-deps", "--no-cache-dir", "--index-url", index.as_uri()]
        target = tmp_path / "got"
        shutil.rmtree(target, ignore_errors=True)
        done = subprocess.run([*words, "--dest", str(target), requirement], capture_output=True, text=True, check=False)
        return "".join(path.name for path in target.glob("*.whl")) if done.returncode == 0 else ""

    assert chosen("demo-pkg") == two.name
    yank(index, "demo-pkg", "2.0", "wrong results")
    assert chosen("demo-pkg") == one.name and chosen("demo-pkg==2.0") == two.name
    yank(index, "demo-pkg", "2.0", None)
    assert chosen("demo-pkg") == two.name
    set_status(index, "demo-pkg", "quarantined", "stolen key")
    assert chosen("demo-pkg") == "" and (index / "demo-pkg" / two.name).is_file()
    set_status(index, "demo-pkg", "active", "")
    assert chosen("demo-pkg") == two.name


def wheel_for(folder: Path, tag: str) -> Path:
    wheel = small_wheel(folder / tag, "1.0")
    other = wheel.with_name(f"demo_pkg-1.0-{tag}.whl")
    if other == wheel:
        return wheel
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"py3-none-any", tag.encode()))
    return other


@pytest.mark.parametrize(
    ("tags", "files"),
    [
        (("cp311-cp311-manylinux_2_17_x86_64", "cp312-cp312-manylinux_2_17_x86_64", "py3-none-any"),
         {"3.11 x86_64": "cp311-cp311-manylinux_2_17_x86_64", "3.12 x86_64": "cp312-cp312-manylinux_2_17_x86_64"}),
        (("cp311-cp311-linux_x86_64", "cp311-cp311-linux_aarch64", "cp312-cp312-linux_aarch64"),
         {"3.11 aarch64": "cp311-cp311-linux_aarch64", "3.12 aarch64": "cp312-cp312-linux_aarch64", "3.11 x86_64": "cp311-cp311-linux_x86_64", "3.12 x86_64": ""}),
        (("cp311-cp311-manylinux_2_28_x86_64", "cp312-cp312-manylinux_2_34_x86_64"),
         {"3.11 x86_64": "cp311-cp311-manylinux_2_28_x86_64", "3.12 x86_64": "cp312-cp312-manylinux_2_34_x86_64"}),
    ],
)  # fmt: skip
def test_each_python_gets_its_file_on_each_machine(tags: tuple[str, ...], files: dict[str, str], tmp_path: Path) -> None:
    wheels, index = tuple(wheel_for(tmp_path, tag) for tag in tags), tmp_path / "simple"
    expected = {where: f"demo_pkg-1.0-{tag}.whl" if tag else "" for where, tag in files.items()}
    if all(expected.values()):
        checks = publish(wheels, index, Publication(pythons=("3.11", "3.12"))).installs
        assert {f"{c.python} {c.machine}": c.file for c in checks} == expected
        return
    with pytest.raises(VerificationFailed) as caught:
        publish(wheels, index, Publication(pythons=("3.11", "3.12")))
    for where, file in expected.items():
        assert f"Python {where.replace(' ', ' on ')}: demo-pkg 1.0 → {file or 'no file: '}" in caught.value.what
    assert list(index.glob("[!.]*")) == []


@pytest.mark.parametrize(
    ("needs", "missing"),
    [
        (("demo-pkg==1.0",), "No matching distribution found for demo-pkg==1.0, which top-1.0-py3-none-any.whl requires"),
        (("demo-pkg ; python_version < '3.12'",), ""),
        (("demo-pkg ; extra == 'x'", "elsewhere"), ""),
        (("middle",), "No matching distribution found for demo-pkg, which middle-1.0-py3-none-any.whl requires"),
        (("middle[own]",), "No matching distribution found for demo-pkg, which middle-1.0-py3-none-any.whl requires"),
    ],
)
def test_a_python_gets_a_file_of_each_project_of_the_index(tmp_path: Path, needs: tuple[str, ...], missing: str) -> None:
    """A wheel for every Python may require one that is for some: pip would look for that one elsewhere, or stop."""
    index = tmp_path / "simple"
    inner = "demo-pkg ; extra == 'own'" if "[own]" in needs[0] else "demo-pkg"
    middle = small_wheel(tmp_path, name="middle", requires=(inner,), headers=("Provides-Extra: own",))
    publish((wheel_for(tmp_path, "cp311-cp311-linux_x86_64"), middle), index)
    top = small_wheel(tmp_path, name="top", requires=needs)
    if not missing:
        checks = publish((top,), index, Publication(pythons=("3.11", "3.12"))).installs
        assert [check.file for check in checks] == [top.name, top.name]
        return
    with pytest.raises(VerificationFailed, match="1 of 2 get no file") as caught:
        publish((top,), index, Publication(pythons=("3.11", "3.12")))
    assert f"Python 3.11 on x86_64: top 1.0 → {top.name}" in caught.value.what
    assert f"Python 3.12 on x86_64: top 1.0 → no file: {missing}" in caught.value.what


def test_a_release_that_a_python_gets_no_file_of_is_not_published(tmp_path: Path) -> None:
    """Neither its bytes nor its pages are there; a wheel that is there already counts."""
    old, index = wheel_for(tmp_path, "cp312-cp312-manylinux_2_28_x86_64"), tmp_path / "simple"
    words = [sys.executable, "-m", "stackbuild", "publish", str(old), "--to", str(index)]
    done = subprocess.run([*words, "--check-install", "3.11..3.13"], capture_output=True, text=True, check=False)
    assert done.returncode == 5 and list(index.glob("[!.]*")) == [], done.stderr
    assert "nothing is published: 2 of 3 get no file" in done.stderr and "No matching distribution" in done.stderr
    assert f"Python 3.12 on x86_64: demo-pkg 1.0 → {old.name}" in done.stderr and "name only those" in done.stderr
    assert publish((old,), index, Publication(pythons=python_versions("3.12"))).number == 1
    new = wheel_for(tmp_path, "cp313-cp313-manylinux_2_28_x86_64")
    before = sorted(index.rglob("*"))
    with pytest.raises(VerificationFailed, match="1 of 3 get no file"):
        publish((new,), index, Publication(pythons=("3.12", "3.13", "3.14")))
    assert sorted(index.rglob("*")) == before
    receipt = publish((new,), index, Publication(pythons=("3.12", "3.13")))
    assert [check.file for check in receipt.installs] == [old.name, new.name] and receipt.number == 2


def test_a_python_without_pip_is_named(tmp_path: Path) -> None:
    wheel, index = wheel_for(tmp_path, "py3-none-any"), tmp_path / "simple"
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    code = f"import sys; sys.path[:0] = {sys.path!r}; sys.executable = {str(venv / 'bin' / 'python')!r}\n"
    code += "from stackbuild.__main__ import main\nsys.argv[0] = 'stackbuild'\nsys.exit(main())"
    words = [sys.executable, "-c", code, "publish", str(wheel), "--to", str(index), "--check-install", "3.11"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 7 and "asks pip, which this Python does not have" in done.stderr, done.stderr
    assert list(index.glob("[!.]*")) == []


def test_twine_uploads_to_pypiserver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = small_wheel(tmp_path / "a")
    packages = tmp_path / "packages"
    packages.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "pypiserver", "run", "-i", "127.0.0.1", "-p", str(port), "-P", ".", "-a", ".", str(packages)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    monkeypatch.setenv("TWINE_USERNAME", "any")
    monkeypatch.setenv("TWINE_PASSWORD", "any")
    monkeypatch.setenv("HOME", str(tmp_path))
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        (uploaded,) = upload((wheel,), f"http://127.0.0.1:{port}/")
        assert (packages / wheel.name).read_bytes() == wheel.read_bytes() and uploaded.file == wheel.name
        with pytest.raises(UsageError, match="did not take the wheels") as caught:
            upload((small_wheel(tmp_path / "b", content="other"),), f"http://127.0.0.1:{port}/")
        assert caught.value.next
    finally:
        server.terminate()
        server.wait()


def attestation(wheel: Path) -> str:
    """A stand-in for Sigstore's: of the form that PEP 740 asks for, about this wheel, signed by nobody."""
    subject = {"name": wheel.name, "digest": {"sha256": hashlib.sha256(wheel.read_bytes()).hexdigest()}}
    statement = {"_type": "https://in-toto.io/Statement/v1", "subject": [subject], "predicateType": "https://docs.pypi.org/attestations/publish/v1"}
    material = {"certificate": base64.b64encode(b"no certificate").decode(), "transparency_entries": [{"logIndex": "1"}]}
    envelope = {"statement": base64.b64encode(json.dumps(statement).encode()).decode(), "signature": base64.b64encode(b"none").decode()}
    return Attestation.model_validate({"version": 1, "verification_material": material, "envelope": envelope}).model_dump_json()


def test_an_upload_sends_each_wheel_with_its_own_attestation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To a server of our own: pypiserver does not look at attestations."""
    bodies: list[bytes] = []

    class Takes(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    wheels = (small_wheel(tmp_path / "a"), small_wheel(tmp_path / "a", "2.0"))
    monkeypatch.setenv("TWINE_USERNAME", "any")
    monkeypatch.setenv("TWINE_PASSWORD", "any")
    monkeypatch.setenv("HOME", str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Takes) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            upload(wheels, f"http://127.0.0.1:{server.server_port}/", put_attestations(wheels, attestation))
        finally:
            server.shutdown()
            thread.join()
    assert len(bodies) == 2
    for wheel, body in zip(wheels, bodies, strict=True):
        (sent,) = re.findall(rb'name="attestations"\r\n\r\n(.*)\r\n', body)
        assert json.loads(sent) == [json.loads((wheel.parent / f"{wheel.name}.publish.attestation").read_text())]


def test_without_an_identity_nothing_is_uploaded(tmp_path: Path) -> None:
    wheel = small_wheel(tmp_path / "a")
    words = [sys.executable, "-m", "stackbuild", "publish", str(wheel), "--to", "http://127.0.0.1:9/", "--attest"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ACTIONS_ID", "GITHUB_", "GITLAB_", "BUILDKITE"))}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 7 and "nobody gives this process an identity" in done.stderr, done.stderr
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]
    words[words.index("--to") + 1] = str(tmp_path / "simple")
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 2 and "--attest is for an upload" in done.stderr and not (tmp_path / "simple").exists()
