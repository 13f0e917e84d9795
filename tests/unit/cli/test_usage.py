"""What a wrong command line is answered."""

from __future__ import annotations

import shlex
import sys

import pytest

from stackbuild.__main__ import run


@pytest.mark.parametrize(
    ("line", "what", "step"),
    [
        ("check mine.yaml", "no command `stackbuild check`", "did you mean `stackbuild recipe check`?"),
        ("recipe ls", "no command `stackbuild recipe ls`", "did you mean `stackbuild recipe list`?"),
        ("gc", "no command `stackbuild gc`", "did you mean `stackbuild store gc`?"),
        ("bild", "no command `stackbuild bild`", "did you mean `stackbuild build`?"),
        ("plan -r debian-13 --gpu gfx1100", "no option `--gpu`", "did you mean `--gfx`?"),
        ("store gc --older-than 30", "no option `--older-than`", "write `--days 30`"),
        ("store gc --older-than 7d", "no option `--older-than`", "write `--days 7`"),
        ("store gc --older-than=2w", "no option `--older-than`", "write `--days 14`"),
        ("store gc --older-than soon", "no option `--older-than`", "did you mean `--days`?"),
        ("index yank dist/simple demo==1.0 --reason bad", "'demo==1.0' is one word", "`stackbuild index yank dist/simple demo 1.0 --reason bad`"),
        ("bench models --model resnet50 --batch 1,8", "'1,8' is several values", "`--batch 1 --batch 8`"),
        ("publish a-1-py3-none-any.whl dist/simple", "--to is missing", "`stackbuild publish a-1-py3-none-any.whl --to dist/simple`"),
        ("plan -r debian-13 --until verify", "no step 'verify'", "write `wheel`, the last step"),
        ("build -r debian-13 --on b.example.org:8786", "build --on", "write `--on tcp+tls://b.example.org:8786`"),
        ("build -r debian-13 --on http://localhost:8786", "build --on", "write `--on tcp://localhost:8786`"),
        ("build -r debian-13 -j auto", "build --jobs: 'auto' is not a whole number", "from 0 to 1024: jobs at once"),
        ("build -r debian-13 --jobs=9999", "build --jobs: '9999' is out of bounds", "from 0 to 1024"),
        ("build -r debian-13 --runner podman", "--runner: no runner 'podman'", "DOCKER_HOST=unix:///run/podman/podman.sock"),
        ("bench models --model resnet50 --dtype fp16", "--dtype: it cannot be 'fp16'", "did you mean `float16`?"),
        ("ci render -r debian-13 --provider gh --install-from x", "--provider: no provider 'gh'", "did you mean `github`?"),
    ],
)
def test_the_word_that_was_probably_meant_is_named(
    line: str, what: str, step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["stackbuild", *shlex.split(line)])
    monkeypatch.setenv("COLUMNS", "500")
    assert run() == 2
    said = capsys.readouterr().err
    assert what in said.partition("next:")[0] and step in said.partition("next:")[2]
