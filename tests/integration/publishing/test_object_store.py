"""An index in S3, as moto's server plays it: published and yanked by the command line, installed from by pip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from botocore import UNSIGNED
from botocore.config import Config
from moto.server import ThreadedMotoServer

from support.wheels import new_key, small_wheel

COMMAND = Path(sys.executable).parent / "stackbuild"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    _, port = running.get_host_and_port()
    address = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", config=Config(signature_version=UNSIGNED))
    client.create_bucket(Bucket="wheels", ACL="public-read")
    yield address
    running.stop()


def called(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(COMMAND), *words], capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.filterwarnings("default")
def test_an_index_in_s3_is_published_signed_and_installed_from(server: str, tmp_path: Path) -> None:
    new_key(tmp_path / "keys")
    wheel = small_wheel(tmp_path / "wheels", content="x" * (12 << 20))
    place, served = "s3://wheels/rocm-7.2/simple", f"{server}/wheels/rocm-7.2/simple"
    line = called("publish", str(wheel), "--to", place, "--url", served, "--sign", str(tmp_path / "keys" / "release")).stdout
    assert line.startswith('pip install "demo-pkg @ ')
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--isolated", "--no-deps", "--dest", str(tmp_path / "got"), line.split('"')[1]]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "got" / wheel.name).read_bytes() == wheel.read_bytes()
    reply = json.loads(called("index", "yank", place, "demo-pkg", "1.0", "--sign", str(tmp_path / "keys" / "release"), "--json").stdout)
    assert reply["number"] == 2
    refused = called("publish", str(small_wheel(tmp_path / "b", content="other")), "--to", place, "--url", served, code=2).stderr
    assert "published already, with other bytes" in refused


@pytest.mark.filterwarnings("default")
def test_a_bucket_that_is_not_there_is_named(server: str, tmp_path: Path) -> None:
    refused = called("publish", str(small_wheel(tmp_path / "a")), "--to", "s3://nothing/simple", "--url", server, code=2).stderr
    assert "object store did not do it" in refused and "NoSuchBucket" in refused and "AWS_ACCESS_KEY_ID" in refused
    words = ["publish", str(tmp_path / "a" / "demo_pkg-1.0-py3-none-any.whl"), "--to", "ftp://example.invalid/simple"]
    assert "not a place for an index" in called(*words, code=2).stderr
