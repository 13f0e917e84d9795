"""What of each bundled recipe ever ran: `recipes/evidence.yaml`. `start`, `recipe list` and README show it."""

from __future__ import annotations

from functools import cache
from typing import Literal

from stackbuild.core import yaml
from stackbuild.core.model import Field, Model, TypeAdapter
from stackbuild.core.resources import folder

Stage = Literal["built", "configured", "miniature", "planned"]
STAGES: dict[Stage, str] = {
    "built": "built whole, its wheels verified on the CPU",
    "configured": "its real sources were configured, not compiled to the end",
    "miniature": "built from miniature sources only; no real source was compiled",
    "planned": "locked and planned; nothing of it was built",
}
"""Each stage in words, the strongest first."""


class RecipeTrial(Model):
    """Whether one part of a recipe ran; `none` where it has no such part. `note` limits what is claimed.

    `targets` are the GPU targets that were emulated.
    """

    ran: Literal["yes", "partly", "no", "none"]
    note: str = ""
    targets: tuple[str, ...] = ()

    @property
    def cell(self) -> str:
        """The text of a table's cell: `yes`, `partly: miniature sources only`, `–`."""
        word = "–" if self.ran == "none" else self.ran
        return f"{word}: {self.note}" if self.note else word


class Proof(Model):
    """One recipe: its wheels built, its real trees configured, its device code emulated, anything on an AMD GPU."""

    built: RecipeTrial
    configured: RecipeTrial
    emulated: RecipeTrial
    gpu: RecipeTrial
    source: str = Field(min_length=1)

    @property
    def stage(self) -> Stage:
        """The strongest of what is done whole; a recipe that was built in part was built from miniature sources."""
        if self.built.ran == "yes" or self.configured.ran == "yes":
            return "built" if self.built.ran == "yes" else "configured"
        return "miniature" if self.built.ran == "partly" else "planned"

    @property
    def words(self) -> str:
        """Such as `built whole, …; emulated: gfx1100; never run on an AMD GPU`."""
        emulated_text = f"; emulated: {', '.join(self.emulated.targets)}" if self.emulated.targets else ""
        gpu = f"run on {self.gpu.note or 'an AMD GPU'}" if self.gpu.ran == "yes" else "never run on an AMD GPU"
        return f"{STAGES[self.stage]}{emulated_text}; {gpu}"

    @property
    def summary(self) -> str:
        """What ran, in a few words: `built, emulated`, `built (miniature sources only)`; `nothing` where nothing did."""
        parts = {"built": self.built, "configured": self.configured, "emulated": self.emulated, "on a GPU": self.gpu}
        labels = [
            f"{name} ({trial.note})" if trial.ran == "partly" and trial.note else name
            for name, trial in parts.items()
            if trial.ran in ("yes", "partly")
        ]
        return ", ".join(labels) or "nothing"


@cache
def proofs() -> dict[str, Proof]:
    """The proofs by recipe."""
    path = folder("recipes") / "evidence.yaml"
    data, _ = yaml.compose(path.read_text("utf-8"), str(path))
    return TypeAdapter(dict[str, Proof]).validate_python(data)
