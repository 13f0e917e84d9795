"""The rules that speak when something is run. `stackbuild/checks/catalogue.py` has all rules."""

from __future__ import annotations

from stackbuild.model.findings import RuleDescription, Severity

INSTALL = RuleDescription(
    "SB-RUN-INSTALL", Severity.ERROR, "The wheel does not install",
    when="pip, offline, in a new virtual environment, refuses the wheel or one of its dependencies.",
    why="Nobody else will be able to install it either: a tag no interpreter has, or a dependency that contradicts another.",
    fix="Read pip's last lines in the finding; a missing dependency belongs into the wheelhouse (`pip download`).",
    link="", needs="",
)  # fmt: skip
IMPORT = RuleDescription(
    "SB-RUN-IMPORT", Severity.ERROR, "The package does not import in a clean environment",
    when="Importing a top-level package of the wheel raises, or kills the process, with only its declared dependencies installed.",
    why="It worked for the builder because something else was installed there.",
    fix="Declare what is missing; for a crash, load the libraries one by one (the next rung does).",
    link="", needs="",
)  # fmt: skip
SHADOWED_MODULE = RuleDescription(
    "SB-RUN-SHADOWED", Severity.ERROR, "What is imported is not what was installed",
    when="A top-level package of the wheel is imported from outside the clean environment.",
    why="The result would be about other code than the wheel's.",
    fix="Rename a package that has the name of a module of Python itself; users would get that module too. Report any other "
    "path as a bug of stackbuild.",
    link="", needs="",
)  # fmt: skip
OVERWRITTEN_FILE = RuleDescription(
    "SB-RUN-OVERWRITTEN", Severity.ERROR, "What is installed is not what the wheels hold",
    when="In the clean environment two distributions have different files in one place, or a file differs from that of its"
    " wheel, or no wheel has it. It is looked at after the import, and again with ONNX Runtime installed beside.",
    why="A wheel that carries files of `onnxruntime/`, or runs code while others are installed, is not tested beside ONNX"
    " Runtime but in place of it.",
    fix="Install nothing outside of the wheel's own package; the finding names the files.",
    link="https://onnxruntime.ai/docs/execution-providers/plugin-ep-libraries/packaging.html", needs="",
)  # fmt: skip
LOAD = RuleDescription(
    "SB-RUN-LOAD", Severity.ERROR, "A library does not load",
    when="`dlopen` with RTLD_NOW in a fresh process fails for another reason than a ROCm library that this machine has not. Examples:"
    " an undefined symbol, a missing library that is nobody's to supply, a wrong architecture, a crash in a constructor.",
    why="ONNX Runtime prints one line, falls back to the CPU, and still lists the provider as available.",
    fix="Link what is undefined; give RUNPATH `$ORIGIN` for libraries of the wheel.",
    link="https://github.com/microsoft/onnxruntime/issues/17801", needs="",
)  # fmt: skip
CRASH = RuleDescription(
    "SB-RUN-CRASH", Severity.ERROR, "The process died",
    when="A probe ends by a signal, or does not end within its time limit.",
    why="A missing code object kills the process inside the launch (exit code 139) with no error to catch.",
    fix="Check the targets of the wheel's GPU code against this GPU (`stackbuild inspect`).",
    link="https://github.com/microsoft/onnxruntime/issues/12662", needs="",
)  # fmt: skip
OPERATOR = RuleDescription(
    "SB-RUN-OPERATOR", Severity.ERROR, "A claimed operator does not run",
    when="A session for one operator cannot be made or run with `session.disable_cpu_ep_fallback=1` and the Python fallback off,"
    " or a custom operator's case raises.",
    why="In a real model the node silently runs on the CPU, or the session fails at the customer's.",
    fix="Run the operator alone with `log_severity_level=0`; the finding names the first case.",
    link="https://github.com/microsoft/onnxruntime/pull/16016", needs="",
)  # fmt: skip
SHARE = RuleDescription(
    "SB-RUN-SHARE", Severity.ERROR, "Too few nodes run on the provider",
    when="On a ResNet-50- or BERT-shaped graph the provider is given fewer nodes than the floor (nine tenths).",
    why="The rest runs on the CPU, with copies between: a MIGraphX session once took 3 of 412 nodes and said nothing.",
    fix="Look which operators were left (`get_provider_graph_assignment_info`), and whether the graph is in the opset it supports.",
    link="https://github.com/microsoft/onnxruntime/issues/29669", needs="",
)  # fmt: skip
NUMERICS = RuleDescription(
    "SB-RUN-NUMERICS", Severity.ERROR, "Wrong numbers",
    when="An output differs from the reference by more than the tolerance: float64 answers for operators, an independent"
    " CPU session for models. The measures are those of `stackbuild/bench/error_metrics.py` (docs/verify.md).",
    why="A fast wrong kernel is worse than none.",
    fix="The finding names operator, case and error. Compare with the CPU, then per target.", link="", needs="",
)  # fmt: skip
IDLE = RuleDescription(
    "SB-RUN-GPU-IDLE", Severity.ERROR, "The GPU did nothing while the provider was said to run",
    when="During a model's run neither the memory nor the busy counter of any AMD GPU moved.",
    why="Everything else can be right and the work still be done by the CPU.",
    fix="Check permissions on /dev/kfd and /dev/dri, and the log at severity 0.", link="", needs="",
)  # fmt: skip
SCRUBBED_VARIABLES = RuleDescription(
    "SB-RUN-OVERRIDES", Severity.NOTE, "Variables of the caller were kept from the probes",
    when="The caller's environment has variables that change what ONNX Runtime, MIGraphX or ROCm do.",
    why="A result that depends on `HSA_OVERRIDE_GFX_VERSION` or `ORT_MIGRAPHX_*` is not the wheel's.",
    fix="Nothing: they are scrubbed. A wheel that needs one of them is not ready.", link="", needs="",
)  # fmt: skip

EMULATED_CODE = RuleDescription(
    "SB-EMU-CODE", Severity.ERROR, "Device code cannot be run by the emulator",
    when="`verify --emulate TARGET`: a launch finds no code object for the target, one of another target under its name, or no such"
    " kernel. Or a kernel has an instruction that the emulator does not know.",
    why="On such a GPU the launch fails, or kills the process. An instruction that is not known proves nothing, so nothing is claimed.",
    fix="Compare the targets in the wheel (`stackbuild inspect`). An unknown instruction is named with its place: report it.",
    link="", needs="",
)  # fmt: skip
EMULATED_CALL = RuleDescription(
    "SB-EMU-CALL", Severity.ERROR, "A host call failed under the emulator",
    when="`verify --emulate TARGET`: a call of the HIP runtime is one that the stand-in lacks, or ends with an error that the"
    " wheel's own code caused. Examples: memory that was freed, a copy beyond an allocation, a workgroup that is too large.",
    why="On a GPU the same call fails, or does damage that nobody sees.",
    fix="The finding names the call and what was wrong with it. docs/emulator.md lists the calls that the stand-in has.",
    link="", needs="",
)  # fmt: skip
EMULATED_ACCESS = RuleDescription(
    "SB-EMU-FINDING", Severity.ERROR, "A kernel did what no kernel may do",
    when="`verify --emulate TARGET`: while a kernel ran, the emulator saw a defect. Examples: an access out of bounds, a barrier"
    " that not all waves reach, code without an end. docs/emulator.md has them all.",
    why="A GPU reports few of these: the others are wrong numbers now and then, on some cards.",
    fix="The finding names kernel, offset, instruction, workgroup, wave and lane.",
    link="", needs="",
)  # fmt: skip

RUNNING = (
    INSTALL,
    IMPORT,
    SHADOWED_MODULE,
    OVERWRITTEN_FILE,
    LOAD,
    CRASH,
    OPERATOR,
    SHARE,
    NUMERICS,
    IDLE,
    SCRUBBED_VARIABLES,
)
EMULATION_RULES = (EMULATED_CODE, EMULATED_CALL, EMULATED_ACCESS)
