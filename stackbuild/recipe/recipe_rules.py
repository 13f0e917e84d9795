"""The rules of `recipe check`: id, severity and text of each. `plan` and `build` refuse by some of them.

A finding has its own fix, with the names and versions of the recipe, and where the rule has several reasons its own reason.
"""

from __future__ import annotations

from stackbuild.model.findings import ClauseRule, Severity, clause_rule

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

ROCM = clause_rule(
    "SB-STACK-ROCM", ERROR, "The ROCm release is not in the compatibility table",
    when="`rocm:` names a release line that the table does not have. `plan` and `build` print it and continue.",
    why="nothing is known of what belongs to it",
    fix="write a release that the finding lists, or add the release to the table",
)  # fmt: skip
GFX = clause_rule(
    "SB-STACK-GFX", ERROR, "That ROCm has no code objects for the GPU target",
    when="`gfx:` names a target for which the libraries of `rocm:` were not built, and a component calls them: any but `kernels`.",
    why="its libraries have no code object for it: the first kernel launch fails, or crashes the process",
    fix="remove the target, or build for a ROCm that has it. The finding lists the targets of this one",
)  # fmt: skip
GFX_UNOFFICIAL = clause_rule(
    "SB-STACK-GFX-UNOFFICIAL", NOTE, "AMD does not list the GPU target for that ROCm",
    when="Binaries of that ROCm have the target, and AMD's list of supported GPUs does not, or is not in the table. Or the recipe compiles `kernels` for it alone, and its ROCm's libraries lack it.",
    why="binaries for it exist; the vendor does not promise that they work",
    fix="test the wheel on that GPU",
)  # fmt: skip
PYTHON = clause_rule(
    "SB-STACK-PYTHON", ERROR, "ONNX Runtime is not built for that Python",
    when="`python:` names a version that this release of ONNX Runtime does not support.",
    why="the component would compile for an hour and then fail",
    fix="write a Python that the finding lists, or build another release of ONNX Runtime",
)  # fmt: skip
ROCM_EP = clause_rule(
    "SB-STACK-ROCM-EP", ERROR, "The ROCm execution provider is not in that release",
    when="`providers:` has `rocm`, and the release of ONNX Runtime or of ROCm no longer builds it.",
    why="it ends in an error",
    fix="write `providers: [migraphx]`, or build ONNX Runtime 1.22 as the recipe rocm-6.4 does",
    link="onnxruntime#25181",
)  # fmt: skip
CMAKE = clause_rule(
    "SB-STACK-CMAKE", ERROR, "CMake is older than a component demands",
    when="`base.extend.cmake` is below the minimum of a component in the compatibility table.",
    why="its configure phase fails",
    fix="set `base.extend.cmake` to the version that the finding names, or newer",
)  # fmt: skip
SONAME = clause_rule(
    "SB-STACK-SONAME", ERROR, "A wheel names the HIP runtime of another ROCm",
    when="A wheel's `external:` has `libamdhip64.so` with another number than that of `rocm:`.",
    why="that ROCm has another number, so the pattern matches nothing",
    fix="write the soname that the finding names",
)  # fmt: skip
TREE_VERSION = clause_rule(
    "SB-STACK-TREE-VERSION", ERROR, "The locked source is another version than the component says",
    when="The lock has read the version of a source, and the component's `version:` differs.",
    why="it would be built as another version is",
    fix="write the version that the source has, or take another `ref`",
)  # fmt: skip
MIGRAPHX = clause_rule(
    "SB-STACK-MIGRAPHX", ERROR, "MIGraphX, its source and ROCm are not of one release",
    when="`version:` of MIGraphX differs from that of its `ref`, or the `ref` belongs to another ROCm. A warning where nobody is"
    " known to have built the pair.",
    why="what is built is what `ref` says",
    fix="write the version or the `ref` that the finding names",
)  # fmt: skip
ROCM_PATCH = clause_rule(
    "SB-STACK-ROCM-PATCH", WARNING, "The table has the line of that ROCm and not the release",
    when="`rocm:` is a patch release that the table lacks, of a line that it has, and the recipe builds MIGraphX.",
    why="which MIGraphX and rocMLIR belong to it is not known",
    fix="write a release that the finding lists, or check both tags by hand",
)  # fmt: skip
ROCMLIR = clause_rule(
    "SB-STACK-ROCMLIR", ERROR, "rocMLIR is not the commit that MIGraphX pins",
    when="The `ref` of rocMLIR's source is the one that another MIGraphX pins. A warning where no MIGraphX of the table pins it.",
    why="a patch release of ROCm can change rocMLIR without changing MIGraphX's version",
    fix="use the commit that the finding names",
)  # fmt: skip
NO_ROCMLIR = clause_rule(
    "SB-STACK-NO-ROCMLIR", WARNING, "MIGraphX is built without rocMLIR",
    when="A component of kind `migraphx` needs no component of kind `rocmlir`.",
    why="no release compiles so without a patch, and convolutions are not fused",
    fix="add a component of kind `rocmlir` and name it in `needs`. Else take the patch of debian-rocm-7.2, which was built without it",
)  # fmt: skip
ROCMLIR_PIN = clause_rule(
    "SB-STACK-ROCMLIR-PIN", WARNING, "rocMLIR is not the commit in MIGraphX's requirements.txt",
    when="The lock has read MIGraphX's requirements, and they name another commit of rocMLIR than the locked one.",
    why="nobody is known to have built that pair",
    fix="use the commit that the finding names",
)  # fmt: skip
ROCMLIR_OPTION = clause_rule(
    "SB-STACK-ROCMLIR-OPTION", WARNING, "rocMLIR is built without an option that MIGraphX asks for",
    when="MIGraphX's requirements build rocMLIR with a CMake option that the component does not set.",
    why="a library made in another way may not be what MIGraphX links",
    fix="write the option in the component's `options`",
)  # fmt: skip
NO_MIGRAPHX = clause_rule(
    "SB-STACK-NO-MIGRAPHX", ERROR, "A component links MIGraphX, and nothing provides it",
    when="ONNX Runtime with the provider `migraphx`, or a plugin that links MIGraphX, needs no component that builds it. The base is"
    " not known to have it either.",
    why="its configure phase finds no MIGraphX",
    fix="add a component of kind `migraphx` and name it in `needs`, or say where the base has it: `migraphx_home: /opt/rocm`",
)  # fmt: skip
ORT_VERSION = clause_rule(
    "SB-STACK-ORT-VERSION", ERROR, "ONNX Runtime's version is not that of its tag",
    when="`version:` of ONNX Runtime differs from the version in the `ref` of its source.",
    why="providers, Pythons and options are chosen by `version`, what is built is what `ref` says",
    fix="write the same version in both",
)  # fmt: skip
ORT_RELEASE = clause_rule(
    "SB-STACK-ORT-RELEASE", ERROR, "The source of an ONNX Runtime release is not an archive",
    when="The source of a component of kind `onnxruntime-release` has no `archive:`.",
    why="a release of ONNX Runtime is one",
    fix="write `archive:` and `sha256:` in that source",
)  # fmt: skip
IMAGE_ROCM = clause_rule(
    "SB-STACK-IMAGE-ROCM", ERROR, "The image has another ROCm than the recipe",
    when="The tag of `base.image` names another ROCm than `rocm:`. A warning where both are of one release line.",
    why="what is compiled and linked is the image's",
    fix="take the image of that ROCm, or write the image's release as `rocm:`",
)  # fmt: skip
IMAGE_TAG = clause_rule(
    "SB-STACK-IMAGE-TAG", WARNING, "The image has no tag, or one that moves",
    when="`base.image` has neither a digest nor a tag, or a tag such as `latest` that names no release.",
    why="the next `stackbuild lock` takes another image, with another ROCm",
    fix="write a tag, such as `image: rocm/dev-ubuntu-24.04:7.2.4-complete`",
)  # fmt: skip
IMAGE_APT = clause_rule(
    "SB-STACK-IMAGE-APT", ERROR, "The image has no apt-get",
    when="`base.image` is of a distribution that is not Debian or made from it, such as AlmaLinux or Alpine.",
    why="Dockerfile.base extends an image with apt-get",
    fix="take an image of Debian or Ubuntu",
)  # fmt: skip
IMAGE_PYTHON = clause_rule(
    "SB-STACK-IMAGE-PYTHON", ERROR, "The image has another Python",
    when="`python:` names a version that is not the one of the image's Ubuntu, and a wheel has an extension module.",
    why="the image has no other, with no headers and no packages for it",
    fix="write the Python that the finding names",
)  # fmt: skip
IMAGE_NO_ROCM = clause_rule(
    "SB-STACK-IMAGE-NO-ROCM", ERROR, "The image has no ROCm",
    when="`base.image` is a plain distribution's or NVIDIA's, the recipe installs no ROCm package in it, and a component is built"
    " with ROCm.",
    why="its compiler and libraries are not there",
    fix="write one of AMD's images, such as `image: rocm/dev-ubuntu-24.04:7.2.4-complete`",
)  # fmt: skip
NO_ROCM = clause_rule(
    "SB-STACK-NO-ROCM", WARNING, "The recipe does not say which ROCm it is for",
    when="`rocm:` is not there, and the image is AMD's or a component belongs to a release of ROCm.",
    why="targets, MIGraphX, rocMLIR and sonames are not checked against its release",
    fix="write `rocm:` beside `name:`, with the release of the base, such as `rocm: 7.2.4`",
)  # fmt: skip
CMAKE_4 = clause_rule(
    "SB-STACK-CMAKE-4", ERROR, "CMake 4 with an ONNX Runtime whose dependencies refuse it",
    when="`base.extend.cmake` is 4 or newer, and ONNX Runtime's options have no `CMAKE_POLICY_VERSION_MINIMUM`.",
    why="CMake 4 refuses dependencies of it whose cmake_minimum_required is below 3.5",
    fix='set `CMAKE_POLICY_VERSION_MINIMUM: "3.5"` in its options, or `base.extend.cmake: 3.31.10`',
    link="onnxruntime#23888",
)  # fmt: skip
WHEEL_VERSION = clause_rule(
    "SB-STACK-WHEEL-VERSION", ERROR, "The wheel's version is not that of its content",
    when="The public version of a wheel differs from that of the ONNX Runtime or MIGraphX in it, or `+rocm.` from `rocm:`.",
    why="who installs it gets another version than its name says",
    fix="write the version that the finding names",
)  # fmt: skip
WHEEL_NAME = clause_rule(
    "SB-STACK-WHEEL-NAME", ERROR, "Two wheels are one distribution",
    when="Two components of kind `wheel` have the same `distribution`. Case and the marks `-`, `_`, `.` count for nothing.",
    why="one file takes the place of the other",
    fix="give each wheel a distribution of its own",
)  # fmt: skip
WHEEL_EMPTY = clause_rule(
    "SB-STACK-WHEEL-EMPTY", ERROR, "The wheel packs a component without a Python package",
    when="A wheel needs an ONNX Runtime that has `python_package: false`.",
    why="there is nothing to pack",
    fix="write `python_package: true`, or remove the wheel",
)  # fmt: skip
WHEEL_ABI = clause_rule(
    "SB-STACK-WHEEL-ABI", ERROR, "The wheel's `abi` does not fit its content",
    when="ONNX Runtime is packed without `abi: cpython`. A warning where content that depends on no Python has it.",
    why="installers would give it to every Python",
    fix="write `abi: cpython` for an extension module, and `abi: none` for other content",
)  # fmt: skip
WHEEL_PACKAGE = clause_rule(
    "SB-STACK-WHEEL-PACKAGE", ERROR, "The wheel names a package that its component does not install",
    when="An item of a wheel's `packages` is not an import package of the component that it packs.",
    why="the wheel's step would stop after all that it needs was built",
    fix="write the package that the finding names",
)  # fmt: skip
WHEEL_LICENSE = clause_rule(
    "SB-STACK-WHEEL-LICENSE", ERROR, "The wheel names a licence file in a folder that is not there",
    when="The folder of an item of `license_files` is almost the name of the component's import package.",
    why="the wheel's step would stop after all that it needs was built",
    fix="write the path that the finding names",
)  # fmt: skip
EXTERNAL = clause_rule(
    "SB-STACK-EXTERNAL", WARNING, "A library in `external` is not known",
    when="An item of `external` is almost the name of a library of ROCm.",
    why="an `external` that matches nothing ends the wheel's step",
    fix="write the name that the finding names",
)  # fmt: skip
SOURCE_KIND = clause_rule(
    "SB-STACK-SOURCE-KIND", ERROR, "The source is of another kind than its component",
    when="The source is the repository of another kind of component, or a binary package of Debian.",
    why="what is configured would be another project",
    fix="name a source of the component's own project",
)  # fmt: skip
SOURCE_NAME = clause_rule(
    "SB-STACK-SOURCE-NAME", WARNING, "The address of a source is almost that of its project",
    when="The last part of `git:` is like the name of the project's repository, and is not that name.",
    why="a repository that is not there ends the lock",
    fix="write the address that the finding names. A fork with a name of its own may stay",
)  # fmt: skip
REF = clause_rule(
    "SB-STACK-REF", ERROR, "The `ref` is probably not a tag or commit",
    when="`ref:` is a word such as `latest`, a commit with the wrong number of digits, or almost the tag of the component's version. A"
    " warning where no other value of the recipe contradicts it.",
    why="git finds what has exactly that name",
    fix="write the tag that the finding names, or all 40 digits of a commit",
)  # fmt: skip
FROM_BASE = clause_rule(
    "SB-STACK-FROM-BASE", WARNING, "A name in `from_base` is not a requirement of MIGraphX",
    when="An item of `from_base` is not a line of MIGraphX's requirements.txt, by the lock or by those that are known.",
    why="what it stands for would be fetched and built",
    fix="write the line that the finding names, or remove the item",
)  # fmt: skip
NO_EFFECT = clause_rule(
    "SB-STACK-NO-EFFECT", WARNING, "A name in `deps` or `probes_ok` changes nothing",
    when="An item of `deps` is not a row of the source's `cmake/deps.txt`, by the lock. Or an item of `probes_ok` is not a probe of"
    " MIGraphX.",
    why="nothing has that name, so nothing is fetched or allowed by it",
    fix="write the name that the finding names, or remove the item",
)  # fmt: skip
OPTION_KEY = clause_rule(
    "SB-STACK-OPTION-KEY", WARNING, "An option sets what a key of the recipe, or stackbuild itself, sets",
    when="`options:` has a CMake cache entry such as `GPU_TARGETS`, `onnxruntime_USE_CUDA` or `CMAKE_INSTALL_PREFIX`, with another value"
    " than the recipe's. An error for `CMAKE_INSTALL_PREFIX`.",
    why="options win over stackbuild's own, and what is checked is the recipe's key",
    fix="write the key that the finding names, and remove the option",
)  # fmt: skip
OPTION_NAME = clause_rule(
    "SB-STACK-OPTION-NAME", WARNING, "An option is almost one that is known",
    when="A CMake cache entry differs from one that is often written by a letter, or `CMAKE_BUILD_TYPE` is not a build type. Or the value"
    " of a switch is not a truth value, or `uses_gfx` names an option of CUDA.",
    why="CMake sets any name and reads none that it does not know",
    fix="write the name that the finding has",
)  # fmt: skip
ENV_NAME = clause_rule(
    "SB-STACK-ENV", WARNING, "A variable does nothing in a component's environment, or works against stackbuild",
    when="`env:` of a component has a variable such as `HSA_OVERRIDE_GFX_VERSION`, `PYTORCH_ROCM_ARCH` or `MAKEFLAGS`.",
    why="a step has no GPU and no network, and stackbuild chooses its jobs and folders",
    fix="remove it; the finding says what does that here",
)  # fmt: skip
PACKAGE_NAME = clause_rule(
    "SB-STACK-PACKAGE", WARNING, "A package has another name in Debian",
    when="A package of the base is named as Fedora, Arch, Alpine or AMD's repositories name it, such as `gcc-c++` or `zlib-devel`.",
    why="the archive has no such package: the base cannot be made",
    fix="write the name that the finding has",
)  # fmt: skip
REQUIREMENT_NAME = clause_rule(
    "SB-STACK-REQUIREMENT", WARNING, "A requirement has another name on the package index",
    when="An item of `verify.runtime` or of a wheel's `requires` is a module's name, or almost a distribution that is often named.",
    why="pip finds no such distribution, or somebody else's",
    fix="write the name that the finding has",
)  # fmt: skip
RUNTIME_TWICE = clause_rule(
    "SB-STACK-RUNTIME-TWICE", WARNING, "A requirement overwrites the wheel's own files",
    when="`verify.runtime` or a wheel's `requires` names a second distribution of ONNX Runtime, or the wheel itself.",
    why="both install the same folder, and the one that is installed last wins",
    fix="remove it, or write `onnxruntime`",
)  # fmt: skip
COMMAND = clause_rule(
    "SB-STACK-COMMAND", WARNING, "A command cannot do in a step what it does on a person's machine",
    when="A command of `run:` needs a network, another user or a file that is not in its folder, installs outside `/out`, or `PATH` has"
    " no `/usr/bin`.",
    why="a step starts in an empty folder, without a network and without root, and `/out` alone is kept",
    fix="write what the finding names",
)  # fmt: skip
AREA = clause_rule(
    "SB-STACK-AREA", WARNING, "Debian's archive has no such area",
    when="`base.debian.areas` names an area that is not Debian's, such as Ubuntu's `universe`.",
    why="the archive has no list of packages for it: the base cannot be made",
    fix="write `main`, `contrib`, `non-free` or `non-free-firmware`",
)  # fmt: skip
REQUIRES_PYTHON = clause_rule(
    "SB-STACK-REQUIRES-PYTHON", ERROR, "A wheel refuses a Python that it is built for",
    when="`requires_python` of a wheel excludes one of the recipe's `python:`.",
    why="pip does not install that wheel",
    fix="write a `requires_python` that has it, or remove that Python",
)  # fmt: skip
EXCLUDE = clause_rule(
    "SB-STACK-EXCLUDE", WARNING, "A pattern of `exclude` leaves out everything, or nothing",
    when="`exclude:` of a source has `*` or `**`, or a path that begins with `/` or `./`.",
    why="patterns are paths from the source's top",
    fix="write the pattern that the finding names",
)  # fmt: skip
ARCHIVE = clause_rule(
    "SB-STACK-ARCHIVE", WARNING, "An archive's address or digest is of something else",
    when="`archive:` of a source ends with none of `.tar`, `.tar.gz`, `.tgz`, `.zip` and their like, or its `sha256:` is of an empty file.",
    why="an address of a page is fetched as a page, and its digest differs each day",
    fix="write the address of the file itself",
)  # fmt: skip
DEBIAN_PYTHON = clause_rule(
    "SB-STACK-DEBIAN-PYTHON", ERROR, "That release of Debian has another Python",
    when="`python:` names a version that is not the one of `base.debian.suite`, and a wheel has an extension module.",
    why="the base has no other",
    fix="write the Python that the finding names",
)  # fmt: skip
TOOL = clause_rule(
    "SB-STACK-TOOL", WARNING, "The base lists no package of a program that a component starts",
    when="A component starts a program such as cmake or hipcc, and no package in `base.debian.packages` is known to have it.",
    why="its first command ends unless another package brings it",
    fix="add the package that the finding names to `base.debian.packages`",
)  # fmt: skip
UNUSED_SOURCE = clause_rule(
    "SB-STACK-UNUSED-SOURCE", WARNING, "No component uses a source",
    when="A source is named in no component.",
    why="it is fetched and locked for nothing",
    fix="name it in a component, or remove it",
)  # fmt: skip
MEMORY = clause_rule(
    "SB-STACK-MEMORY", WARNING, "The memory of a step is less than half of what is expected",
    when="`memory:` of a component is below half of the table's figure for its kind.",
    why="the step is killed when it wants more",
    fix="write the size that the finding names",
)  # fmt: skip
HIPIFY = clause_rule(
    "SB-STACK-HIPIFY", ERROR, "The base has no HIPIFY",
    when="A component has `hipify:` without `tool`, and the locked packages of the base have neither hipify-perl nor hipify-clang;"
    " or the engine is clang and hipify-clang is not there.",
    why="the tables to convert by come from it",
    fix="add `hipify-perl`, or `hipify-clang` for its engine, to `base.debian.packages`, or name a source with `tool`",
)  # fmt: skip
HIPIFY_RULES = clause_rule(
    "SB-STACK-HIPIFY-RULES", ERROR, "A rule set of `hipify` cannot be read",
    when="An item of `hipify.rules` names no rule set, or its file has a mistake.",
    why="the step that converts the source would stop",
    fix="correct the file at the place that the finding names. `stackbuild hipify --help` describes rule sets",
)  # fmt: skip
HIPIFY_INCLUDE = clause_rule(
    "SB-STACK-HIPIFY-INCLUDE", ERROR, "A pattern of `hipify.include` matches no file",
    when="The source is a folder beside the recipe, and no file in it matches the pattern.",
    why="the step that converts the source would stop",
    fix="correct the pattern: `**/` stands for any folders",
)  # fmt: skip
PATCH = clause_rule(
    "SB-STACK-PATCH", ERROR, "A patch cannot be read, or was not checked",
    when="A folder of patches is not there, or a patch in it is not a unified diff. A note where the patches were not tried on the"
    " source.",
    why="the step that reads it would stop",
    fix="correct the patch. `stackbuild recipe check --sources` tries all of them",
)  # fmt: skip
PATCH_TAKEN = clause_rule(
    "SB-STACK-PATCH-TAKEN", WARNING, "Upstream has taken a patch",
    when="`recipe check --sources`: the source at the locked commit already has the lines of a patch.",
    why="the step that patches it would fail or change nothing",
    fix="remove the patch",
)  # fmt: skip
PATCH_MISFIT = clause_rule(
    "SB-STACK-PATCH-MISFIT", ERROR, "A patch no longer applies",
    when="`recipe check --sources`: a patch does not apply to the source at the locked commit.",
    why="the step that patches it would fail",
    fix="refresh the patch, or remove it",
)  # fmt: skip
WAIVER = clause_rule(
    "SB-STACK-WAIVER", WARNING, "A waiver of a gate is not in force",
    when="The day in a waiver's `until` is over, or more than a year ahead.",
    why="it is not applied: a failure of that case fails the gate",
    fix="remove it, or write a day of the coming year",
)  # fmt: skip
LOCK = clause_rule(
    "SB-STACK-LOCK", WARNING, "There is no current lock",
    when="The recipe has no lock file, or one that was made of another text of the recipe.",
    why="a build stops without one",
    fix="run `stackbuild lock --recipe RECIPE`",
)  # fmt: skip
UNLOCKED_ENTRY = clause_rule(
    "SB-STACK-UNLOCKED", WARNING, "The lock leaves an entry open",
    when="A source, image or package had no answer when the lock was made.",
    why="the build stops before it starts",
    fix="run `stackbuild lock --recipe RECIPE` where the network or a mirror is",
)  # fmt: skip
SHORT_COMMIT = clause_rule(
    "SB-STACK-SHORT-COMMIT", NOTE, "A commit is locked by its first digits",
    when="The lock has fewer than 40 digits of a commit.",
    why="what is fetched must begin with them; a short commit id guards against mistakes, not tampering",
    fix="run `stackbuild lock --recipe RECIPE`: it completes the commit",
)  # fmt: skip
UNCONFIRMED_LINE = clause_rule(
    "SB-STACK-UNCONFIRMED", NOTE, "A line of the recipe is marked as unconfirmed",
    when="A comment of the recipe has the word `unconfirmed`.",
    why="no source that could be read says so",
    fix="confirm it, then take the word `unconfirmed` out of the comment",
)  # fmt: skip

UNUSED_COMPONENT = clause_rule(
    "SB-STACK-UNUSED-COMPONENT", NOTE, "No wheel and no archive has a component in it",
    when="The recipe makes wheels or archives, and none of them needs the component, directly or through others. Scripts are not"
    " looked at: one may be a test.",
    why="it is built for nothing",
    fix="name it in the `needs:` of what uses it, or remove it",
)  # fmt: skip
STEP_PATH = clause_rule(
    "SB-STACK-STEP-PATH", ERROR, "A command names a source or a component that its step does not see",
    when="A command, an option or a variable of a component has `/src/NAME` of a source that is not its own, or `/deps/NAME` of what it"
    " does not need.",
    why="a step sees its own source and what it needs, and nothing else",
    fix="write the name that the finding names, or name the component in `needs:`",
)  # fmt: skip
SAID_TWICE = clause_rule(
    "SB-STACK-SAID-TWICE", WARNING, "One thing is said twice, or a part of the recipe changes nothing",
    when="An option is there with and without its type, or a package in two lists. A variant changes nothing, or is like another"
    " one. MIGraphX is both built and looked for elsewhere.",
    why="one of the two has no effect, and which one is not plain",
    fix="remove what the finding names",
)  # fmt: skip
HOME = clause_rule(
    "SB-STACK-HOME", ERROR, "A folder of the base is a file, a relative path or of another ROCm",
    when="`rocm_home`, `compiler`, `migraphx_home` or `onnxruntime_home` is not absolute, ends with a program's name or names another"
    " release than `rocm:`. Or an item of `hipify.headers` is a header.",
    why="its configure phase finds nothing there, or another ROCm",
    fix="write the folder that the finding names",
)  # fmt: skip
PATCHES = clause_rule(
    "SB-STACK-PATCHES", WARNING, "The patches are of another project, or another version",
    when="`patches:` of a source names a folder of MIGraphX, ONNX Runtime or rocMLIR, and the component is of another kind or version.",
    why="they probably do not apply",
    fix="write the folder of the component's own version, or remove `patches`",
)  # fmt: skip
SUITE_MOVES = clause_rule(
    "SB-STACK-SUITE-MOVES", WARNING, "The suite is another release after the next one",
    when="`base.debian.suite` is `stable`, `oldstable` or `testing`.",
    why="its compiler, its ROCm and its Python change on that day",
    fix="write the release's own name, such as `suite: trixie`",
)  # fmt: skip
PIN = clause_rule(
    "SB-STACK-PIN", ERROR, "What stands for a version is none",
    when="`cmake` or `ninja` of `base.extend` is not numbers with dots, or an item of `pip` is pinned to what is not a version.",
    why="the package index has no such version",
    fix="write the version that the finding names",
)  # fmt: skip
GFX_FEATURE = clause_rule(
    "SB-STACK-GFX-FEATURE", ERROR, "The GPU target does not have that feature",
    when="An item of `gfx:` sets xnack or sramecc of a target that has it not, or the target is listed with and without a feature.",
    why="the compiler refuses it",
    fix="write what the finding names",
    link="https://llvm.org/docs/AMDGPUUsage.html#target-id",
)  # fmt: skip
UNUSUAL = clause_rule(
    "SB-STACK-UNUSUAL", WARNING, "A value that works and that hardly anybody means",
    when="A bound, a size, a number of pairs or of threads is far from what is used. A case of a waiver is not one of its gate. A"
    " gate judges what is not built.",
    why="it is far from what is used, so another value was probably meant",
    fix="write the value that the finding names, or leave it where it is meant",
)  # fmt: skip
UNSATISFIABLE = clause_rule(
    "SB-STACK-UNSATISFIABLE", ERROR, "No version meets a requirement",
    when="The comparisons of an item of `verify.runtime` or of a wheel's `requires` exclude each other, or two items of one name do.",
    why="pip refuses to install it",
    fix="write one range that a version is in",
)  # fmt: skip
NO_PYTHON = clause_rule(
    "SB-STACK-NO-PYTHON", ERROR, "There is no such Python, or it is no longer maintained",
    when="`python:` names a version before 3.8 or after 3.15, or with a leading zero.",
    why="no base and no package index has it",
    fix="write one that there is, such as `\"3.12\"`",
)  # fmt: skip
IMAGE_NAME = clause_rule(
    "SB-STACK-IMAGE-NAME", WARNING, "The image has almost the name of one of AMD's, or lacks libraries",
    when="`base.image` is like `rocm/dev-ubuntu-24.04`, or its tag ends with a word that is almost `complete` or `full`. Or the tag has"
    " no such word, and a component links ROCm's libraries.",
    why="an image that is not there ends the base; without `-complete` it has the HIP runtime and no MIOpen, rocBLAS or MIGraphX",
    fix="write the image that the finding names",
)  # fmt: skip
ADDRESS = clause_rule(
    "SB-STACK-ADDRESS", ERROR, "An address is not of what it is to be",
    when="`git:` of a known host names no repository, has a password in it, or is of an archive. Or `archive:` is of a wheel. Or `url:`"
    " of `publish` is a page, a public index or of another ROCm.",
    why="what is fetched or printed there is another thing",
    fix="write the address that the finding names",
)  # fmt: skip

RULES = tuple(rule for rule in globals().values() if isinstance(rule, ClauseRule))
"""All of them, in the order of this module."""
