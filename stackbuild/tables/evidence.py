"""What of each bundled recipe ran for real: `recipes/evidence.yaml`, the one source of `recipe list` and of README.md."""

from __future__ import annotations

from functools import cache
from typing import Literal

from stackbuild.core import yaml
from stackbuild.core.model import Model, TypeAdapter
from stackbuild.core.resources import folder


class RecipeTrial(Model):
    """Whether one part of a recipe ran; `none` where it has no such part. `note` limits what is claimed."""

    ran: Literal["yes", "partly", "no", "none"]
    note: str = ""

    @property
    def cell(self) -> str:
        """The text of a table's cell: `yes`, `partly: miniature sources only`, `–`."""
        word = "–" if self.ran == "none" else self.ran
        return f"{word}: {self.note}" if self.note else word


class RecipeEvidence(Model):
    """One recipe: its wheels built, its real trees configured, its device code emulated, anything on an AMD GPU."""

    built: RecipeTrial
    configured: RecipeTrial
    emulated: RecipeTrial
    gpu: RecipeTrial

    @property
    def summary(self) -> str:
        """What ran, in a few words: `built, emulated`, `built (miniature sources only)`; `nothing` where nothing did."""
        parts = {"built": self.built, "configured": self.configured, "emulated": self.emulated, "on a GPU": self.gpu}
        said = [
            f"{name} ({trial.note})" if trial.ran == "partly" and trial.note else name
            for name, trial in parts.items()
            if trial.ran in ("yes", "partly")
        ]
        return ", ".join(said) or "nothing"


@cache
def evidence() -> dict[str, RecipeEvidence]:
    """Every bundled recipe by name."""
    path = folder("recipes") / "evidence.yaml"
    data, _ = yaml.compose(path.read_text("utf-8"), str(path))
    return TypeAdapter(dict[str, RecipeEvidence]).validate_python(data)
