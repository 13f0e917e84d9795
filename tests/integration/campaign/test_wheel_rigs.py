"""The rigs of wheels and parsers can lose: with a check taken out, or a parser that raises, they say so."""

from __future__ import annotations

import pytest
from campaign import frame, parsers
from campaign.rigs import mutated_wheels, parser_fuzz

from stackbuild.inspection.readers import descriptors, messagepack


def lost(rig: frame.Rig, only: str, most: int) -> int:
    return len(frame.run(rig, frame.sample(rig, 1, only=only)[:most], 1).lost)


def test_damage_that_is_not_looked_for_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lost(mutated_wheels.RIG, "code object", 20) == 0
    monkeypatch.setattr(descriptors, "check", lambda *arguments: None)
    monkeypatch.setattr(descriptors, "samples", lambda offset, length: [])
    assert lost(mutated_wheels.RIG, "code object", 20) > 0


def test_a_repacked_wheel_without_a_finding_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lost(mutated_wheels.RIG, "repacked", 100) == 0
    monkeypatch.setattr(mutated_wheels, "judge", lambda facts, expected: ())
    assert lost(mutated_wheels.RIG, "repacked", 100) > 40


def test_a_parser_that_raises_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lost(parser_fuzz.RIG, "MessagePack 0", 1) == 0
    monkeypatch.setattr(messagepack, "unpack", lambda *arguments: 1 / 0)
    assert lost(parser_fuzz.RIG, "MessagePack 0", 1) == 1


def test_the_same_seed_makes_the_same_input() -> None:
    folder = parsers.scratch()
    for target in parsers.targets(folder).values():
        assert target.spoil(parsers.Random("7")) == target.spoil(parsers.Random("7")), target.name
    folder.rmdir()
