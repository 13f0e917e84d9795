"""What of each bundled recipe ever ran: `proofs.yaml`. A test holds that every bundled recipe has a row."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from stackbuild.core import yaml
from stackbuild.core.model import Field, Model

Stage = Literal["built", "configured", "miniature", "planned"]
STAGES: dict[Stage, str] = {
    "built": "built whole, its wheels proved on the CPU",
    "configured": "its real sources were configured, not compiled to the end",
    "miniature": "built from miniature sources only; no real source was compiled",
    "planned": "locked and planned; nothing of it was built",
}
"""Each stage in words, the strongest first."""


class Proof(Model):
    """What ran of one recipe. `gpu` is the AMD GPU that its wheels ran on, "" for none."""

    recipe: str
    stage: Stage
    emulated: tuple[str, ...]
    gpu: str
    source: str = Field(min_length=1)

    @property
    def words(self) -> str:
        """Such as `built whole, …; emulated on gfx1100; never run on an AMD GPU`."""
        emulated = f"; emulated: {', '.join(self.emulated)}" if self.emulated else ""
        return f"{STAGES[self.stage]}{emulated}; {f'run on {self.gpu}' if self.gpu else 'never run on an AMD GPU'}"


class _ProofFile(Model):
    schema_: Literal[1] = Field(alias="schema")
    recipes: tuple[Proof, ...]


@cache
def proofs() -> dict[str, Proof]:
    """The proofs by recipe."""
    path = Path(__file__).with_name("proofs.yaml")
    data, _ = yaml.compose(path.read_text("utf-8"), str(path))
    return {row.recipe: row for row in _ProofFile.model_validate(data).recipes}
