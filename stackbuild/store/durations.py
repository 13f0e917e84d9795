"""How long each step of a recipe took when it last ran: one JSON file a recipe, beside the runs' folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from stackbuild.store import atomic
from stackbuild.store.store import Store


def step_seconds(store: Store, recipe: str) -> dict[str, float]:
    """Seconds that each step took when it last ran; empty where nothing is recorded or the file cannot be read."""
    try:
        rows = json.loads(_file(store, recipe).read_text("utf-8"))
        return {str(step): float(seconds) for step, seconds in rows.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def record_step_seconds(store: Store, recipe: str, seconds: Mapping[str, float]) -> None:
    """Replace the times of these steps and keep those of all others. Raises OSError."""
    atomic.write_whole(_file(store, recipe), json.dumps({**step_seconds(store, recipe), **seconds}), store.tmp)


def _file(store: Store, recipe: str) -> Path:
    return store.root / "runs" / f".seconds.{recipe}.json"
