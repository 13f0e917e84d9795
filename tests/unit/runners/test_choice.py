"""Which runner a name means: `auto` by the base and by what the machine has."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.runners import choice, docker
from stackbuild.runners.fake import Fake
from stackbuild.runners.sandbox import Sandbox


@pytest.mark.parametrize(
    ("bwrap", "base_is_image", "engine", "expected"),
    [
        ("/usr/bin/bwrap", False, True, "sandbox"),
        ("/usr/bin/bwrap", True, True, "docker"),
        ("/usr/bin/bwrap", True, False, "sandbox"),
        (None, False, False, "docker"),
        (None, True, False, "docker"),
    ],
)
def test_auto_is_the_sandbox_but_for_an_image_with_an_engine_and_without_bubblewrap(
    bwrap: str | None, base_is_image: bool, engine: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Docker engine is not asked for a Debian base. `doctor -r` lets an image pass with skopeo alone."""
    monkeypatch.setattr("stackbuild.runners.engine.find_engine", lambda: object() if engine else None)
    monkeypatch.setattr("shutil.which", lambda name: bwrap)
    monkeypatch.setattr(docker, "Docker", lambda store: "docker")
    runner = choice.choose("auto", store=SimpleNamespace(), base_is_image=base_is_image)  # type: ignore[arg-type]
    assert ("sandbox" if isinstance(runner, Sandbox) else runner) == expected


def test_a_name_means_its_runner_and_another_is_an_error() -> None:
    store = SimpleNamespace()
    assert isinstance(choice.choose("fake", store=store, base_is_image=True), Fake)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no runner 'podman'") as stopped:
        choice.choose("podman", store=store, base_is_image=False)  # type: ignore[arg-type]
    assert stopped.value.next.startswith("write `docker`, and set DOCKER_HOST=")  # podman serves Docker's protocol
    with pytest.raises(UsageError, match="no runner 'sandbx'") as stopped:
        choice.choose("sandbx", store=store, base_is_image=False)  # type: ignore[arg-type]
    assert stopped.value.next == "did you mean `sandbox`?"
