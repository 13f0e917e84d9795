"""`explain` answers which commit, patch or file makes a step run again, and not by digests alone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stackbuild.model.plan import Command, Need, Plan, Step
from stackbuild.plan.explain import Cause, explain_step
from stackbuild.sources.local import LocalSource, content, survey
from stackbuild.store.records import Record
from stackbuild.store.store import Store, new_run_id
from stackbuild.views.console import forget_consoles
from stackbuild.views.plan import draw_explanation


@dataclass
class SourceStore:
    """A store, and the folders of a source and of its patches."""

    store: Store
    folder: Path

    @property
    def places(self) -> dict[str, LocalSource]:
        return {"kernels": LocalSource(self.folder / "kernels", ("*.md",)), "ort.patches": LocalSource(self.folder / "patches")}

    def plan(self, commit: str = "c1", flag: str = "-O2") -> Plan:
        """`lib` needs `tool`, which needs a folder of this machine; and a git source with patches."""
        kernels = Step("source.kernels", "snapshot", params=(("tree", content(self.places["kernels"])),))
        params = (("commit", commit), ("patches", content(self.places["ort.patches"])), ("url", "https://x/ort"))
        ort = Step("source.ort", "git", params=params)
        tool = Step("tool", "run", (Need(kernels.name, kernels.key, "/src/kernels"),), commands=(Command(("make",)),))
        needs = (Need("tool", tool.key, "/deps/tool", "bin"), Need("source.ort", ort.key, "/src/ort"))
        lib = Step("lib", "run", needs, commands=(Command(("make", flag)),))
        return Plan("t", (kernels, ort, tool, lib), ("lib",))

    def build(self, plan: Plan, notes: bool = True) -> None:
        """Every step's record and output, as a build leaves them."""
        for step in plan.steps:
            staging = self.store.stage(step.name)
            told = {}
            if step.name == "source.kernels":
                shutil.copytree(
                    self.folder / "kernels", staging.out, ignore=shutil.ignore_patterns("*.md"), dirs_exist_ok=True
                )
            if step.name == "source.ort" and notes:
                told = {"patches": json.dumps(survey(self.places["ort.patches"]))}
            (staging.out / "made").write_text(step.key) if step.action != "snapshot" else None
            tree = self.store.keep(staging)
            self.store.record(Record(step.key, step.name, "t", tree, step.key_text, 1.0, "r", "now", told))

    def causes(self, plan: Plan, name: str = "lib") -> dict[str, Cause]:
        return {cause.step: cause for cause in explain_step(plan, name, self.store, self.places).causes}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[SourceStore]:
    (tmp_path / "kernels" / "conv").mkdir(parents=True)
    (tmp_path / "kernels" / "conv" / "conv.hip").write_text("old")
    (tmp_path / "kernels" / "gone.hip").write_text("")
    (tmp_path / "kernels" / "README.md").write_text("left out")
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "0001-a.patch").write_text("a")
    store = Store(tmp_path / "store", new_run_id())
    yield SourceStore(store, tmp_path)
    store.close()


def test_the_files_of_a_folder_that_changed_are_named_wherever_it_is_asked(bench: SourceStore) -> None:
    bench.build(bench.plan())
    (bench.folder / "kernels" / "conv" / "conv.hip").write_text("new")
    (bench.folder / "kernels" / "gone.hip").unlink()
    (bench.folder / "kernels" / "more.hip").touch()
    (bench.folder / "kernels" / "README.md").write_text("changed, and left out")
    files = ("~ conv/conv.hip", "- gone.hip", "+ more.hip")
    for name in ("source.kernels", "tool", "lib"):
        found = bench.causes(bench.plan(), name)
        assert set(found) == {"source.kernels"} and found["source.kernels"].files == files, name


def test_a_commit_and_a_patch_and_the_steps_own_commands(bench: SourceStore) -> None:
    bench.build(bench.plan())
    (bench.folder / "patches" / "0001-a.patch").write_text("b")
    (bench.folder / "patches" / "0002-b.patch").touch()
    found = bench.causes(bench.plan(commit="c2", flag="-O3"))
    assert set(found) == {"lib", "source.ort"}
    assert found["lib"].text == ('-command 0 build: ["make","-O2"]', '+command 0 build: ["make","-O3"]')
    assert found["source.ort"].text[:2] == ("-param commit: c1", "+param commit: c2")
    assert found["source.ort"].files == ("~ patches/0001-a.patch", "+ patches/0002-b.patch")


def test_what_was_built_after_the_step_s_own_last_build_counts_too(bench: SourceStore) -> None:
    """The source's last build is the new one already; the step was made from the one before."""
    bench.build(bench.plan())
    (bench.folder / "kernels" / "more.hip").touch()
    plan = bench.plan()
    bench.build(replace(plan, steps=plan.steps[:1]))
    assert bench.causes(plan)["source.kernels"].files == ("+ more.hip",)


def test_nothing_is_made_up_where_the_store_does_not_know(bench: SourceStore) -> None:
    """A store whose records do not list the patches, and no record at all."""
    assert bench.causes(bench.plan()) == {}
    bench.build(bench.plan(), notes=False)
    assert bench.causes(bench.plan()) == {}
    (bench.folder / "patches" / "0001-a.patch").write_text("b")
    found = bench.causes(bench.plan())["source.ort"]
    assert found.files == () and found.text[0].startswith("-param patches: ")


def test_a_need_whose_record_is_gone_is_told_by_its_key(bench: SourceStore) -> None:
    plan = bench.plan()
    bench.build(replace(plan, steps=plan.steps[3:]))
    (bench.folder / "kernels" / "more.hip").touch()
    found = bench.causes(bench.plan())
    assert set(found) == {"lib"} and found["lib"].text[0].startswith("-need tool at /deps/tool part bin: ")


def test_a_source_says_what_its_digests_are_of(bench: SourceStore, capsys: pytest.CaptureFixture[str]) -> None:
    forget_consoles()
    plan = bench.plan()
    draw_explanation(explain_step(plan, "source.kernels", bench.store, bench.places))
    assert f"{bench.folder / 'kernels'}: 2 files, without *.md" in capsys.readouterr().out.replace("\n", "")
    draw_explanation(explain_step(plan, "source.ort", bench.store, bench.places))
    assert "0001-a.patch" in capsys.readouterr().out
    bench.build(plan)
    for number in range(50):
        (bench.folder / "kernels" / f"{number:02}.hip").touch()
    draw_explanation(explain_step(bench.plan(), "lib", bench.store, bench.places))
    said = capsys.readouterr().out
    assert "source.kernels, which it needs:" in said and "+ 39.hip" in said and "+ 40.hip" not in said
    assert "… and 10 more files" in said
    forget_consoles()
