"""The names of runners, as options, settings and recipes give them."""

from __future__ import annotations

from stackbuild.tables.near_words import one_of

RUNNERS = ("auto", "sandbox", "docker", "fake")


def runner_meant(name: str) -> str:
    """The next step for a word that names none of the runners. Podman is reached through the Docker runner, by its own socket."""
    if name.lower() in ("podman", "podman-docker", "buildah"):
        return "write `docker`, and set DOCKER_HOST=unix:///run/podman/podman.sock, the socket that podman serves"
    return one_of(name, RUNNERS)
