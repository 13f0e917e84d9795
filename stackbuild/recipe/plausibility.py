"""Values that are well formed and that hardly anybody means: addresses, versions, names of files, bounds of gates. Pure.

For `recipe check`, `plan` and `build`, as `completeness` is.
"""

from __future__ import annotations

import difflib
import fnmatch
import keyword
import re
from collections.abc import Iterator

from stackbuild.core.project_names import normal_name
from stackbuild.core.sizes import size_of
from stackbuild.model.components import Archive, CMake, Kernels, MIGraphX, OnnxRuntime, Rocm, Scalar, Wheel
from stackbuild.model.findings import Finding, Severity
from stackbuild.model.gates import AccuracyGate, BaselineGate, Gate, LimitGate, MemoryGate, ShareGate, SpeedupGate
from stackbuild.model.recipe import Recipe
from stackbuild.recipe import recipe_rules
from stackbuild.tables.near_words import nearest
from stackbuild.tables.provider_options import builtin_providers, plugin_providers
from stackbuild.tables.providers import BRIDGE_NAMES


def implausible_values(recipe: Recipe) -> Iterator[Finding]:
    """Everything that this module looks for."""
    for check in (
        _addresses, _pythons, _image_name, _option_values, _wheel_files, _names_of_files, _requirements, _verify, _gates, _sizes, _publish,
    ):  # fmt: skip
        yield from check(recipe)


_HOSTS = re.compile(
    r"(?:https|ssh)://(?:[^@/]*@)?(?:www\.)?(github\.com|gitlab\.com|codeberg\.org|bitbucket\.org)(?:/([^/]+))?(?:/([^/]+))?/?$"
)


def _addresses(recipe: Recipe) -> Iterator[Finding]:
    for name, source in recipe.sources.items():
        git, archive = source.git or "", source.archive or ""
        at = f"sources.{name}.git"
        if secret := re.match(r"(https://)[^/@]+:[^/@]+@(.*)", git or archive):
            key = "git" if git else "archive"
            yield recipe_rules.ADDRESS.finding(
                f"sources.{name}.{key}", "a password in an address", why="the recipe, the lock and the SBOM would have it",
                fix=f"write `{key}: {secret[1]}{secret[2]}`, and let git's credential helper have the password", severity=Severity.ERROR,
            )  # fmt: skip
        elif re.search(r"\.(?:tar(?:\.\w+)?|tgz|zip)$", git):
            yield recipe_rules.ADDRESS.finding(
                at, f"`{git.rpartition('/')[2]}` is an archive, and `git` takes a repository", fix=f"write `archive: {git}` with its `sha256:`, or `git: {re.sub(r'/(?:archive|releases)/.*', '', git)}`",
                severity=Severity.ERROR,
            )  # fmt: skip
        elif git and (((host := _HOSTS.match(git)) and not host[3]) or re.fullmatch(r"https://[^/]+/?", git)):
            of = {"github.com": "https://github.com/OWNER/NAME"}.get(host[1] if host else "", f"{git.rstrip('/')}/NAME")
            kinds = [c.kind for c in recipe.components.values() if getattr(c, "source", None) == name]
            step = next((_REPOSITORIES[kind] for kind in kinds if kind in _REPOSITORIES), of)
            yield recipe_rules.ADDRESS.finding(
                at, f"`{git}` names no repository", fix=f"write such as `git: {step}`", severity=Severity.ERROR
            )
        if archive.endswith(".whl"):
            yield recipe_rules.ADDRESS.finding(
                f"sources.{name}.archive", f"`{archive.rpartition('/')[2]}` is a wheel: there is nothing to build in it", fix="write the address of its source, such as `….tar.gz`", severity=Severity.WARNING,
            )  # fmt: skip
        if source.sha256 and _is_periodic(source.sha256):
            yield recipe_rules.ARCHIVE.finding(
                f"sources.{name}.sha256", "its digits repeat, as no digest's do", why="the fetched file has another: the build stops there",
                fix="write what `sha256sum FILE` prints",
            )  # fmt: skip
        if source.bundled not in (None, "kernels"):
            yield recipe_rules.SOURCE_KIND.finding(
                f"sources.{name}.bundled", f"the folder `{source.bundled}` of stackbuild is not a source", why="it has nothing to build", fix="write `bundled: kernels`",
            )  # fmt: skip


_REPOSITORIES = {
    "onnxruntime": "https://github.com/microsoft/onnxruntime",
    "migraphx": "https://github.com/ROCm/AMDMIGraphX",
    "rocmlir": "https://github.com/ROCm/rocMLIR",
    "lc0": "https://github.com/LeelaChessZero/lc0",
}


def _is_periodic(digits: str) -> bool:
    return any(digits == (digits[:n] * len(digits))[: len(digits)] for n in range(1, 17))


def _pythons(recipe: Recipe) -> Iterator[Finding]:
    for i, version in enumerate(recipe.python):
        minor = version.partition(".")[2]
        if minor != str(int(minor)) or not 8 <= int(minor) <= 15:
            step = f"3.{int(minor)}" if 8 <= int(minor) <= 15 else "3.12"
            reason = "is written without a leading zero" if minor != str(int(minor)) else "is not one of 3.8 to 3.15"
            yield recipe_rules.NO_PYTHON.finding(f"python.{i}", f"Python {version} {reason}", fix=f'write "{step}"')


_AMD_IMAGE = re.compile(r"(?:docker\.io/)?(rocm/dev-ubuntu-\d\d\.\d\d):(\d[\w.]*)(?:-(\w+))?(?:@.*)?$")


def _image_name(recipe: Recipe) -> Iterator[Finding]:
    image = recipe.base.image or ""
    name = image.removeprefix("docker.io/").partition("@")[0].rpartition(":")[0] or image
    names = [f"rocm/dev-ubuntu-{release}" for release in ("20.04", "22.04", "24.04", "26.04")]
    if name.startswith("rocm/dev") and name not in names and "ubun" in name:
        near = difflib.get_close_matches(name, names, 1, 0.8)
        if near:
            yield recipe_rules.IMAGE_NAME.finding(
                "base.image",
                f"`{name}` is almost the name of AMD's image",
                fix=f"write `image: {image.replace(name, near[0])}`",
            )
    match = _AMD_IMAGE.match(image)
    if match is None:
        return
    words = ("complete", "full")
    near_word = difflib.get_close_matches(match[3] or "", words, 1, 0.6)
    if match[3] and match[3] not in words and near_word:
        yield recipe_rules.IMAGE_NAME.finding(
            "base.image",
            f"`-{match[3]}` is almost the ending `-{near_word[0]}` of AMD's tags",
            fix=f"write `image: {image.replace('-' + match[3], '-' + near_word[0])}`",
        )
    links = next((n for n, c in recipe.components.items() if isinstance(c, MIGraphX | OnnxRuntime)), "")
    if not match[3] and links:
        yield recipe_rules.IMAGE_NAME.finding(
            "base.image", f"`{match[1]}:{match[2]}` has the HIP runtime alone, and `{links}` links MIOpen and rocBLAS", fix=f"write `image: {match[1]}:{match[2]}-complete`",
        )  # fmt: skip


_TRUE = ("on", "off", "true", "false", "yes", "no", "y", "n", "1", "0")
_SWITCH = re.compile(
    r"(?:^|_)(?:USE|ENABLE|DISABLE|BUILD|WITH|WITHOUT|SHARED|STATIC)_|^BUILD_SHARED_LIBS$|^BUILD_TESTING$"
)
_NO_SWITCH = re.compile(r"BUILD_TYPE|_DIR$|_PATH$|_VERSION|_FLAGS|_LIST$|_TARGETS|_TOOLS|_CONFIG|PARALLEL|RPATH")
_INDISPENSABLE = {
    "onnxruntime_ENABLE_PYTHON": "remove it, or write `python_package: false` in the component",
    "onnxruntime_BUILD_SHARED_LIB": "remove it: the wheel and the C API are the shared library",
    "BUILD_FAT_LIBROCKCOMPILER": "remove it: MIGraphX links that library",
}
"""Options without which a component's output is not what others need, and what to do."""
_STANDARDS = ("11", "14", "17", "20", "23", "26", "98")


def _option_values(recipe: Recipe) -> Iterator[Finding]:
    rows: list[tuple[str, dict[str, Scalar]]] = [
        (f"components.{n}.options", c.options)
        for n, c in recipe.components.items()
        if isinstance(c, CMake | Kernels | Rocm)
    ]
    rows += [(f"matrix.variants.{v}.{n}", o) for v, each in recipe.matrix.variants.items() for n, o in each.items()]
    for where, options in rows:
        for option, value in options.items():
            yield from _option_value(f"{where}.{option}", option, value)


def _option_value(at: str, option: str, value: Scalar) -> Iterator[Finding]:
    bare, text = option.partition(":")[0], str(value)
    is_switch = (_SWITCH.search(bare) or option.endswith(":BOOL")) and not _NO_SWITCH.search(bare)
    if bare in _INDISPENSABLE and text.lower() in ("false", "off", "0", "no"):
        yield recipe_rules.OPTION_KEY.finding(
            at, f"`{bare}` is off, and others need what it builds", fix=_INDISPENSABLE[bare]
        )
    elif bare in ("CMAKE_CXX_STANDARD", "CMAKE_HIP_STANDARD") and text not in _STANDARDS:
        number = re.search(r"\d+", text)
        step = number[0] if number and number[0] in _STANDARDS else "17"
        yield recipe_rules.OPTION_NAME.finding(
            at, f"`{text}` is not a C++ standard that CMake knows", fix=f"write `{bare}: {step}`"
        )
    elif is_switch and isinstance(value, str) and text.lower() not in _TRUE:
        near = nearest(text, ["true", "false", "on", "off", "yes", "no"])
        is_on = text.lower()[:1] in "ty" or text.lower().startswith(("on", "en"))
        spelling = {"on": "true", "off": "false", "yes": "true", "no": "false"}.get(near, near)
        yield recipe_rules.OPTION_NAME.finding(
            at, f"`{text}` is not a truth value of CMake", fix=f"write `{bare}: {spelling or ('true' if is_on else 'false')}`",
            why="CMake takes a text that it does not know for true",
        )  # fmt: skip


_MODULE = re.compile(r"[A-Za-z_]\w*(?:/[A-Za-z_]\w*)*")


_FILE_NAME = re.compile(
    r"(?P<name>.+?)(?:[-_]v?\d+(?:\.\d+)+\S*?)?(?P<ending>\.(?:whl|tar\.\w+|tgz|zip))|(?P<bare>.+?)[-_]v?\d+\.\d+\.\d+\S*", re.IGNORECASE
)
"""The name of a file that has its version, its ending or both."""


def _names_of_files(recipe: Recipe) -> Iterator[Finding]:
    """Names of wheels and archives that are whole file names: the version and the ending are added to them."""
    for name, component in recipe.components.items():
        key, text = (
            ("distribution", component.distribution) if isinstance(component, Wheel)
            else ("file", component.file) if isinstance(component, Archive) else ("", "")
        )  # fmt: skip
        if match := _FILE_NAME.fullmatch(text):
            yield recipe_rules.UNUSUAL.finding(
                f"components.{name}.{key}", f"`{text}` is the name of a file", why="the version and the ending are added to it",
                fix=f"write `{key}: {match['name'] or match['bare']}`",
            )  # fmt: skip


def _wheel_files(recipe: Recipe) -> Iterator[Finding]:
    for name, wheel in recipe.wheels.items():
        for i, package in enumerate(wheel.packages):
            last = re.split(r"[./\\]", package)[-1]
            if (
                _MODULE.fullmatch(package)
                and not keyword.iskeyword(last)
                and not package.startswith(("src/", "lib/", "python/"))
            ):
                continue
            parts = re.findall(r"[A-Za-z_]\w*", package.removesuffix(".whl").partition("-")[0].rstrip("/*"))
            modules = [
                part for part in parts if part not in ("src", "lib", "python", "py") and not keyword.iskeyword(part)
            ]
            module = "/".join(modules) or re.sub(r"\W+", "_", wheel.distribution.lower())
            yield recipe_rules.WHEEL_PACKAGE.finding(
                f"components.{name}.packages.{i}", f"`{package}` is not the name of an import package", fix=f"write `{module}`", severity=Severity.WARNING if _MODULE.fullmatch(package) and not keyword.iskeyword(last) else Severity.ERROR,
            )  # fmt: skip
        for i, path in enumerate(wheel.license_files):
            folder, _, file = path.rpartition("/")
            at = f"components.{name}.license_files.{i}"
            if any(sign in path for sign in "*?["):
                yield recipe_rules.WHEEL_LICENSE.finding(
                    at,
                    f"`{path}` is a pattern, and each item is one file",
                    fix=f"write `{folder}/LICENSE`",
                    why="no file has that name",
                )
            elif file in ("LICENCE", "License", "license", "LICENSES") and folder == "onnxruntime":
                yield recipe_rules.WHEEL_LICENSE.finding(
                    at, f"`{file}` is almost `LICENSE`, as ONNX Runtime calls its file", fix=f"write `{folder}/LICENSE`"
                )
        local = wheel.version.partition("+")[2]
        if re.match(r"cu\d|cuda", local):
            yield recipe_rules.WHEEL_VERSION.finding(
                f"components.{name}.version", f"`+{local}` says CUDA, and the wheel is for ROCm", why="its name would promise another GPU",
                fix=f"write `version: {wheel.version.partition('+')[0]}+rocm.{recipe.rocm or '7.2.4'}`",
            )  # fmt: skip


def _requirements(recipe: Recipe) -> Iterator[Finding]:
    rows = [("verify.runtime", recipe.verify.runtime)] if recipe.verify else []
    rows += [(f"components.{n}.requires", w.requires) for n, w in recipe.wheels.items()]
    for where, entries in rows:
        before: dict[str, int] = {}
        for i, entry in enumerate(entries):
            bare, _, marker = entry.partition(";")
            match = re.match(r"\s*([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(.*)", bare)
            if match is None:
                continue
            name = normal_name(match[1])
            at = f"{where}.{i}"
            if name in ("python", "cpython", "python3"):
                step = (
                    f'write `requires_python: "{match[2].strip() or ">=3.9"}"`, and remove it here'
                    if "components" in where
                    else "remove it: the recipe's `python` says it"
                )
                yield recipe_rules.REQUIREMENT_NAME.finding(
                    at, f"`{match[1]}` is not a distribution of the package index", fix=step
                )
            elif gap := _gap(match[2]):
                yield recipe_rules.UNSATISFIABLE.finding(
                    at, f"`{entry}`: {gap}", fix=f"write one range, such as `{match[1]}{_widest(match[2])}`"
                )
            elif name in before and not marker:
                yield recipe_rules.UNSATISFIABLE.finding(
                    at, f"`{entries[before[name]]}` and `{entry}` are both listed", fix=f"write one of them, such as `{entry}`", severity=Severity.WARNING, why="one of them has no effect, or no version meets both",
                )  # fmt: skip
            if not marker:
                before.setdefault(name, i)


def _release(text: str) -> tuple[int, ...]:
    numbers = [int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:4]]
    return (*numbers, *([0] * (4 - len(numbers))))


def _gap(specifiers: str) -> str:
    """Why no version meets those comparisons; "" where one may."""
    least: tuple[int, ...] | None = None
    most: tuple[int, ...] | None = None
    for sign, text in re.findall(r"(===?|!=|~=|>=|<=|<|>)\s*([\w.*+!]+)", specifiers):
        number = _release(text)
        if sign in (">=", ">", "~=", "==", "===") and "*" not in text:
            least = max(least or number, number)
        if sign in ("<=", "<", "==", "===") and "*" not in text:
            most = min(most or number, number)
    if least is not None and most is not None and least > most:
        return "no version meets all of it"
    return ""


def _widest(specifiers: str) -> str:
    numbers = sorted(re.findall(r"\d+(?:\.\d+)*", specifiers), key=_release)
    return f">={numbers[0]},<{numbers[-1]}" if len(numbers) > 1 and numbers[0] != numbers[-1] else f">={numbers[0]}"


def _verify(recipe: Recipe) -> Iterator[Finding]:
    verify = recipe.verify
    if verify is None:
        return
    names = sorted({*(p.name for p in builtin_providers().values()), *plugin_providers()})
    for wheel, demands in verify.wheels.items():
        for i, provider in enumerate(demands.providers or ()):
            if provider not in names:
                near = nearest(provider, names)
                yield recipe_rules.UNUSUAL.finding(
                    f"verify.wheels.{wheel}.providers.{i}", f"`{provider}` is not the full name of a provider", fix=f"did you mean `{near}`?" if near else "write such as `MIGraphXExecutionProvider`",
                )  # fmt: skip
            elif re.match(r"CUDA|Tensorrt|Dml|CoreML|OpenVINO|QNN", provider):
                yield recipe_rules.UNUSUAL.finding(
                    f"verify.wheels.{wheel}.providers.{i}",
                    f"`{provider}` is for another maker's hardware",
                    fix="write `MIGraphXExecutionProvider`, or remove it",
                )
    for i, pattern in enumerate(verify.grafts):
        if pattern.strip("*") in ("", "lib", ".so", ".so."):
            yield recipe_rules.UNUSUAL.finding(
                f"verify.grafts.{i}",
                f"`{pattern}` is every library of ROCm",
                fix="name the library that the wheel carries on purpose, such as `libhipdnn_ep.so`",
            )
        elif ".so" not in pattern and "*" not in pattern:
            yield recipe_rules.UNUSUAL.finding(
                f"verify.grafts.{i}",
                f"`{pattern}` is not the soname of a library",
                fix=f"write `lib{pattern.removeprefix('lib')}.so.*`",
            )
    for i, path in enumerate(verify.runpaths):
        if ":" in path:
            parts = ", ".join(part for part in path.split(":") if part)
            yield recipe_rules.UNUSUAL.finding(
                f"verify.runpaths.{i}",
                f"`{path}` is several paths in one item",
                fix=f"write each as an item of its own: [{parts}]",
            )
        elif re.match(r"/(?:home|root|tmp|build|src|Users)(?:/|$)", path):
            yield recipe_rules.UNUSUAL.finding(
                f"verify.runpaths.{i}",
                f"`{path}` is a folder of one machine: users do not have it",
                fix="write where ROCm lies, such as `/opt/rocm/lib`, or remove it",
            )
    for i, provider in enumerate(verify.providers):
        if provider == "CPUExecutionProvider":
            yield recipe_rules.UNUSUAL.finding(
                f"verify.providers.{i}",
                "every ONNX Runtime has the CPU provider: nothing is demanded",
                fix="write the provider for the GPU, such as `MIGraphXExecutionProvider`",
            )
    is_built = any(isinstance(c, OnnxRuntime) and c.python_package for c in recipe.components.values())
    at_pin = next((i for i, one in enumerate(verify.runtime) if re.match(r"onnxruntime\s*[=<>~!]", one)), -1)
    own = {normal_name(w.distribution) for w in recipe.wheels.values()}
    for i, one in enumerate(verify.runtime):
        bare = re.match(r"[A-Za-z0-9][\w.-]*", one)
        if bare and normal_name(bare[0]) in own - {"onnxruntime"}:
            yield recipe_rules.UNUSUAL.finding(
                f"verify.runtime.{i}",
                f"`{bare[0]}` is a wheel of this recipe, and `runtime` is what is installed beside it",
                fix="remove it" if not is_built else "write `onnxruntime`: the recipe's own wheel takes its place",
            )
    if is_built and at_pin >= 0:
        yield recipe_rules.UNUSUAL.finding(
            f"verify.runtime.{at_pin}", f"`{verify.runtime[at_pin]}`, and the recipe builds ONNX Runtime itself", fix="write `onnxruntime`: the recipe's own wheel takes its place",
        )  # fmt: skip


def _sizes(recipe: Recipe) -> Iterator[Finding]:
    budgets = [("verify.size_budget", recipe.verify.size_budget)] if recipe.verify else []
    budgets += [
        (f"verify.wheels.{n}.size_budget", w.size_budget)
        for n, w in (recipe.verify.wheels if recipe.verify else {}).items()
    ]
    for at, budget in budgets:
        if budget and not 10 << 10 <= size_of(budget) <= 8 << 30:
            what = (
                "smaller than any wheel" if size_of(budget) < 10 << 10 else "larger than any wheel that an index takes"
            )
            yield recipe_rules.UNUSUAL.finding(
                at,
                f"{budget} is {what}",
                fix=f"write such as `size_budget: {'60M' if size_of(budget) < 10 << 10 else '2G'}`",
            )
    for name, component in recipe.components.items():
        if size_of(component.memory) > 4 << 40:
            yield recipe_rules.UNUSUAL.finding(
                f"components.{name}.memory",
                f"{component.memory} is more than machines have: the step would never start",
                fix="write what it takes, such as `memory: 8G`",
            )
    if recipe.bench and recipe.bench.threads > 1024:
        yield recipe_rules.UNUSUAL.finding(
            "bench.threads",
            f"{recipe.bench.threads} threads are more than a machine has",
            fix="write `threads: 0`: ONNX Runtime then chooses the number",
        )


def _gates(recipe: Recipe) -> Iterator[Finding]:
    providers = _providers_of(recipe)
    for i, gate in enumerate(recipe.gates):
        at = f"gates.{i}"
        for key, what, step in _unusual_bounds(gate):
            yield recipe_rules.UNUSUAL.finding(f"{at}.{key}", what, fix=step)
        if isinstance(gate, ShareGate) and providers:
            if gate.provider == "CPUExecutionProvider":
                yield recipe_rules.UNUSUAL.finding(
                    f"{at}.provider", "a share of the CPU is what is not to be", fix=f"write `provider: {providers[0]}`"
                )
            elif gate.provider.endswith("ExecutionProvider") and gate.provider not in providers:
                yield recipe_rules.UNUSUAL.finding(
                    f"{at}.provider",
                    f"no component of the recipe builds {gate.provider}",
                    fix=f"write `provider: {providers[0]}`",
                )
        for j, waiver in enumerate(gate.waivers):
            if waiver.case.strip("*/") == "":
                yield recipe_rules.UNUSUAL.finding(
                    f"{at}.waivers.{j}.case",
                    f"`{waiver.case}` waives every case: the gate cannot fail",
                    fix="write the case that may fail, such as `case: bert-base/*`",
                )
            elif not any(_overlap(waiver.case, pattern) for pattern in gate.cases):
                yield recipe_rules.UNUSUAL.finding(
                    f"{at}.waivers.{j}.case", f"`{waiver.case}` is not one of the gate's `cases`", fix=f"write one of them, such as `case: \"{gate.cases[0]}\"`, or remove the waiver",
                )  # fmt: skip
        for earlier, other in enumerate(recipe.gates[:i]):
            if _judge_the_same(gate, other):
                yield recipe_rules.UNUSUAL.finding(
                    at,
                    f"it judges what the gate on place {earlier + 1} judges",
                    fix="remove one of the two, or give them other `cases:`",
                )
                break


def _providers_of(recipe: Recipe) -> list[str]:
    return [BRIDGE_NAMES[p] for c in recipe.components.values() if isinstance(c, OnnxRuntime) for p in c.providers]


def _overlap(case: str, pattern: str) -> bool:
    """Whether a case of one pattern may be of the other too, by their heads."""
    one, other = (re.split(r"[*?\[]", text)[0] for text in (case, pattern))
    return one.startswith(other) or other.startswith(one) or fnmatch.fnmatch(case, pattern)


def _judge_the_same(one: Gate, other: Gate) -> bool:
    keys = ("kind", "cases", "side", "metric", "versus", "where", "provider")
    bounds = ("at_most", "at_least")
    if any(getattr(one, key, None) != getattr(other, key, None) for key in keys) or isinstance(one, AccuracyGate):
        return False
    return all((getattr(one, b, None) is None) == (getattr(other, b, None) is None) for b in bounds)


def _unusual_bounds(gate: Gate) -> Iterator[tuple[str, str, str]]:
    """Keys of a gate whose value hardly anybody means: what is wrong and the next step."""
    if isinstance(gate, BaselineGate | SpeedupGate):
        if gate.pairs[-1] > 1000:
            yield "pairs", f"{gate.pairs[-1]} pairs of processes take days", "write `pairs: [20, 40, 60]`"
        if gate.confidence < 0.8:
            yield "confidence", f"a confidence of {gate.confidence:.0%} decides by chance", "write `confidence: 99%`"
    if isinstance(gate, BaselineGate) and gate.delta is not None and gate.delta >= 0.3:
        yield "delta", f"slower by {gate.delta:.0%} would pass", f"write `delta: {_smaller(gate.delta)}`"
    if isinstance(gate, BaselineGate) and gate.lock and not gate.wheel:
        yield (
            "lock",
            "`lock` is of the `wheel` of the baseline, and the gate names none",
            "add `wheel: old.whl`, or remove `lock`",
        )
    if isinstance(gate, SpeedupGate) and gate.at_least >= 50:
        yield "at_least", f"{gate.at_least:g} times as fast is asked for", "write a ratio, such as `at_least: 1.5`"
    if isinstance(gate, LimitGate):
        if gate.metric in ("latency", "create", "first") and gate.at_most is not None and gate.at_most > 3600:
            yield "at_most", f"{gate.at_most:g} s is more than an hour", "write such as `at_most: 20 ms`"
        if gate.metric in ("host_memory", "device_memory") and gate.at_most is not None and gate.at_most < 1 << 20:
            yield "at_most", f"{gate.at_most:g} bytes are less than any process has", "write such as `at_most: 1.5 GiB`"
        if gate.metric == "latency" and gate.at_most is not None and gate.at_most < 1e-7:
            yield (
                "at_most",
                f"{gate.at_most:g} s is less than a kernel takes to start",
                "write such as `at_most: 20 ms`",
            )
    if isinstance(gate, MemoryGate) and gate.at_most is not None and gate.at_most < 1 << 20:
        yield "at_most", f"{gate.at_most:g} bytes are less than any process has", "write such as `at_most: 1.5 GiB`"
    if isinstance(gate, MemoryGate) and gate.grows_at_most == 0:
        yield (
            "grows_at_most",
            "no byte of growth is allowed, and peaks differ from run to run",
            "write `grows_at_most: 5%`",
        )
    if isinstance(gate, ShareGate) and 0 < gate.nodes < 0.05:
        yield (
            "nodes",
            f"{gate.nodes:.1%} of the nodes would be enough",
            f"write `nodes: {gate.nodes * 100:.2g}`, or a share such as `90%`",
        )
    if isinstance(gate, AccuracyGate):
        if gate.cosine is not None and gate.cosine < 0.9:
            yield (
                "cosine",
                f"a cosine of {gate.cosine:g} passes outputs that have little to do with the reference",
                "write such as `cosine: 0.999`",
            )
        if gate.snr_db is not None and gate.snr_db > 160:
            yield "snr_db", f"{gate.snr_db:g} dB are more than float32 has", "write such as `snr_db: 60`"
        if gate.max_abs == 0 or gate.max_rel == 0 or gate.rms == 0:
            key = next(key for key in ("max_abs", "max_rel", "rms") if getattr(gate, key) == 0)
            yield (
                key,
                "no error at all is allowed, and no GPU sums in the reference's order",
                f"write such as `{key}: 0.001`",
            )
        if gate.max_rel is not None and gate.max_rel >= 1:
            yield "max_rel", f"a relative error of {gate.max_rel:g} passes any output", "write such as `max_rel: 0.01`"


def _smaller(share: float) -> str:
    return f"{share * 10:g}%" if share < 1 else "3%"


def _index_meant(index: str, braces: str, rocm: str | None) -> str:
    """The path of an index with `{rocm}` in place of other braces, or without the folder of them where there is no ROCm."""
    if rocm:
        return index.replace(braces, "{rocm}")
    return "/".join(part for part in index.split("/") if braces not in part) or "dist/simple"


def _publish(recipe: Recipe) -> Iterator[Finding]:
    publish = recipe.publish
    if braces := re.search(r"\{(?!rocm\})[^{}]*\}", publish.index):
        yield recipe_rules.ADDRESS.finding(
            "publish.index", f"`{braces[0]}` is not filled in: `{{rocm}}` alone is", why="the folder would have the braces in its name",
            fix=f"write `index: {_index_meant(publish.index, braces[0], recipe.rocm)}`", severity=Severity.WARNING,
        )  # fmt: skip
    if re.search(r"\.(?:html?|whl|json)$", publish.index):
        yield recipe_rules.ADDRESS.finding(
            "publish.index",
            f"`{publish.index}` is a file, and `index` is a folder",
            fix=f"write `index: {publish.index.rpartition('/')[0] or 'dist/simple'}`",
            severity=Severity.WARNING,
        )
    if re.search(r"\.(?:html?|whl)$", publish.url):
        yield recipe_rules.ADDRESS.finding(
            "publish.url",
            f"`{publish.url}` is a page, and `url` is where the folder is served",
            fix=f"write `url: {publish.url.rpartition('/')[0]}`",
            severity=Severity.WARNING,
        )
    elif re.match(r"https?://(?:[\w-]+\.)*(?:pypi|pythonhosted|anaconda)\.org", publish.url):
        yield recipe_rules.ADDRESS.finding(
            "publish.url",
            f"`{publish.url}` is a public index: the folder is not served there",
            fix="write where you serve `index`, or remove `url`",
            severity=Severity.WARNING,
        )
    release = re.search(r"rocm[-_/]?(\d+\.\d+(?:\.\d+)?)", f"{publish.url} {publish.index}")
    if release and recipe.rocm and not recipe.rocm.startswith(release[1]):
        key = "url" if release[0] in publish.url else "index"
        yield recipe_rules.ADDRESS.finding(
            f"publish.{key}",
            f"`{release[0]}`, and the recipe is for ROCm {recipe.rocm}",
            fix="write `rocm-{rocm}`: the recipe's `rocm` is filled in",
            severity=Severity.WARNING,
        )
