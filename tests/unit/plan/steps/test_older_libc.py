"""`base.glibc`: who links with the libraries of an older release, and whose keys that changes."""

from stackbuild.model.choice import Choice
from stackbuild.model.inputs import Inputs
from stackbuild.model.plan import Plan
from stackbuild.plan.resolve import CONFIGURE, resolve, within_reach
from stackbuild.recipe.load import parse

RECIPE = """\
schema: 1
name: r
summary: s
base: {debian: {suite: sid, packages: [cmake]}}
gfx: [gfx90a]
sources: {code: {path: code}}
components:
  kernels: {kind: kernels, source: code}
  ep: {kind: kernels-ep, source: code}
  other: {kind: cmake, source: code}
"""
OLDER = RECIPE.replace("base: {", 'base: {glibc: "2.28", ')
LIBRARIES = ("kernels", "ep")


def plan(text: str, choice: Choice = Choice()) -> Plan:
    return resolve(parse(text, "r.yaml"), Inputs((), (), (), (("code", "1" * 64),)), choice)


def test_both_libraries_are_linked_with_them_and_nothing_else() -> None:
    made = plan(OLDER)
    assert "2.28" in made.by_name["base.glibc"].commands[0].argv
    for step in made.steps:
        needs = {need.step: need.at for need in step.needs}
        flags = [word for c in step.commands for word in c.argv if word.startswith("-DCMAKE_MODULE_LINKER_FLAGS=")]
        if step.name in LIBRARIES:
            assert needs["base.glibc"] == "/deps/base.glibc"
            assert flags == ["-DCMAKE_MODULE_LINKER_FLAGS=-L/deps/base.glibc -static-libstdc++ -Wl,--exclude-libs,ALL"]
        else:
            assert "base.glibc" not in needs and not flags


def test_device_code_is_the_same_with_and_without() -> None:
    keys, older_keys = ({s.name: s.key for s in plan(text).steps} for text in (RECIPE, OLDER))
    assert "base.glibc" not in keys
    assert {name for name, key in keys.items() if older_keys[name] != key} == set(LIBRARIES)


def test_a_component_says_its_own_flags() -> None:
    own = OLDER.replace("{kind: kernels,", "{kind: kernels, options: {CMAKE_MODULE_LINKER_FLAGS: -s},")
    (configure,) = (c.argv for c in plan(own).by_name["kernels"].commands if c.phase == "configure")
    assert [w for w in configure if "LINKER_FLAGS" in w] == ["-DCMAKE_MODULE_LINKER_FLAGS=-s"]


def test_the_configure_phase_needs_none_built() -> None:
    reach = within_reach(plan(OLDER, Choice(until=CONFIGURE)), lambda step: step.action != "run")
    assert {"configure.kernels", "configure.ep"} <= set(reach.plan.goals)
    assert not [line for line in reach.notes if "cannot be configured" in line]
