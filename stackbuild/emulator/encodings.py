"""AMD's instruction encodings, operand types and pseudocode, from the tables that tinygrad ships.

The only module that imports tinygrad. Its tables are made from AMD's ISA guides and machine-readable ISA files. A format
is a list of bit fields; an operation is a number of the format's `op` field.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any

from stackbuild.core.errors import Stop
from stackbuild.emulator.corrections import CACHES, EIGHT_BITS, MATRICES, MORE_MATRICES, OTHERS, UNSIGNED_ZERO
from stackbuild.emulator.matrix_shapes import mfma_shape
from stackbuild.tables.targets import INSTRUCTION_FAMILIES

_SUFFIXES = ("_SDWA_SDST", "_SDWA", "_DPP16", "_DPP8", "_LIT")


class EncodingError(Stop):
    """The emulator's tables are not installed, or know no such target."""

    topic = "emulator"


@dataclass(frozen=True)
class Field:
    """Bits `high`…`low` of an instruction. `kind` is the class of tinygrad's field, e.g. "Src", "VGPR", "Bit"."""

    name: str
    high: int
    low: int
    kind: str

    def of(self, word: int) -> int:
        """The field's value in an instruction's bits."""
        return word >> self.low & (1 << self.high - self.low + 1) - 1


@dataclass(frozen=True)
class OperandType:
    """What an operation takes in a field: `form` is its number format, `bits` its width, `place` where it may lie."""

    form: str
    bits: int
    place: str


@dataclass(frozen=True)
class Operation:
    """One operation of a format. `code` is its pseudocode, "" where the tables have none."""

    name: str
    operands: dict[str, OperandType]
    code: str


@dataclass(frozen=True)
class Format:
    """One encoding. `name` has no suffix; `variant` is "", "LIT", "DPP16", "DPP8", "SDWA" or "SDWA_SDST".

    `operations` are by the number in field `op`, those of a dual format (VOPD) by the number in `opx` and in `opy`.
    """

    family: str
    name: str
    variant: str
    size: int
    mask: int
    match: int
    fields: dict[str, Field]
    operations: dict[int, Operation]


@dataclass(frozen=True)
class EncodingFamily:
    """The formats of one family: those without a suffix by the top nine bits of the first word, most specific first.

    `target` is the processor whose tables they are, "" where they are those of the whole family.
    """

    name: str
    formats: dict[int, tuple[Format, ...]]
    variants: dict[tuple[str, str], Format]
    target: str = ""


def family_name(target: str) -> str:
    """The family of a target such as "gfx942:sramecc+". Raises EncodingError."""
    base = target.partition(":")[0]
    if base not in INSTRUCTION_FAMILIES:
        raise EncodingError(
            f"the emulator knows no target {target}", next=f"It knows {', '.join(sorted(INSTRUCTION_FAMILIES))}."
        )
    return INSTRUCTION_FAMILIES[base]


@cache
def family(name: str) -> EncodingFamily:
    """The tables of "cdna", "rdna3" or "rdna4". Raises EncodingError where tinygrad is not installed."""
    try:
        instructions: Any = import_module(f"tinygrad.runtime.autogen.amd.{name}.ins")
        operands: Any = import_module(f"tinygrad.runtime.autogen.amd.{name}.operands")
        pseudocode: Any = import_module(f"tinygrad.runtime.autogen.amd.{name}.str_pcode")
        language: Any = import_module("tinygrad.renderer.amd.dsl")
    except ImportError:
        raise EncodingError(
            "AMD's instruction tables are not installed", next='Run: pip install "stackbuild[emulator]"'
        ) from None
    classes = [
        _format(name, klass, operands.OPERANDS, pseudocode.PCODE)
        for klass in vars(instructions).values()
        if isinstance(klass, type) and issubclass(klass, language.Inst) and klass.__module__ == instructions.__name__
        and not klass.__name__.startswith(("EXP", "VEXPORT"))
    ]  # fmt: skip
    codes = {op.name: op.code for format in classes for op in format.operations.values() if op.code}
    classes = [_with_codes(format, codes) for format in classes]
    plain = sorted((f for f in classes if not f.variant), key=lambda f: -f.mask.bit_count())
    index = {top: tuple(f for f in plain if (top << 23 ^ f.match) & f.mask & 0xFF800000 == 0) for top in range(512)}
    return EncodingFamily(name, index, {(f.name, f.variant): f for f in classes})


@cache
def target_tables(target: str) -> EncodingFamily:
    """The tables of a target: those of its family, less what `OTHERS` says of it. Raises EncodingError."""
    base = family(family_name(target))
    name = target.partition(":")[0]
    suffix = "fnuz" if name in UNSIGNED_ZERO else ""
    changed_formats = {key: _with_eight_bits(format, suffix) for key, format in base.variants.items()}
    if others := OTHERS.get(name):
        changed_formats = {key: _with_others(format, others) for key, format in changed_formats.items()}
    if caches := CACHES.get(name):
        buffers = changed_formats["MUBUF", ""]
        added_caches = {number: Operation(text, {}, "") for number, text in caches.items()}
        changed_formats["MUBUF", ""] = replace(buffers, operations=buffers.operations | added_caches)
    if names := MATRICES.get(name):
        changed_formats["VOP3P_MFMA", ""] = _with_matrices(changed_formats["VOP3P_MFMA", ""], names)
    if more := MORE_MATRICES.get(name):
        matrices, plain_format = changed_formats["VOP3P_MFMA", ""], changed_formats["VOP3P", ""]
        added_operations = {number: _matrix_operation(text) for number, text in more.items()}
        changed_formats["VOP3P_MFMA", ""] = replace(matrices, operations=matrices.operations | added_operations)
        rest = {number: op for number, op in plain_format.operations.items() if number not in more}
        changed_formats["VOP3P", ""] = replace(plain_format, operations=rest)
    plain = {top: tuple(changed_formats[f.name, ""] for f in formats) for top, formats in base.formats.items()}
    return EncodingFamily(base.name, plain, changed_formats, name)


def _with_codes(format: Format, codes: dict[str, str]) -> Format:
    """The format with the pseudocode of operations that its own table has none of: it stands under a shorter encoding."""
    operations = {
        number: op if op.code else replace(op, code=codes.get(op.name, "")) for number, op in format.operations.items()
    }
    return replace(format, operations=operations)


def _with_eight_bits(format: Format, suffix: str) -> Format:
    """The format with the pseudocode of floats of eight bits, and the suffix of their kind in the operands of matrices."""

    def with_kind(operation: Operation) -> Operation:
        if code := EIGHT_BITS.get(operation.name):
            return replace(operation, code=re.sub(r"(wide|narrow)_(fp8|bf8)", rf"\1_\2{suffix}", code))
        if suffix and operation.name.startswith("v_mfma") and operation.name.endswith(("fp8", "bf8")):
            operands = {
                k: replace(v, form=re.sub(r"[FB][FP]8$", rf"\g<0>{suffix.upper()}", v.form))
                for k, v in operation.operands.items()
            }
            return replace(operation, operands=operands)
        return operation

    return replace(format, operations={number: with_kind(op) for number, op in format.operations.items()})


def _with_others(format: Format, others: dict[str, tuple[str, str]]) -> Format:
    operations_by_name = {operation.name: operation for operation in format.operations.values()}
    operations = {
        number: Operation(others[op.name][0], operations_by_name[others[op.name][1]].operands, "")
        if op.name in others
        else op
        for number, op in format.operations.items()
    }
    # gfx90a has no bit for an address in a vector register: there is one where there is none in a scalar register.
    fields = {name: field for name, field in format.fields.items() if name != "sve"}
    return replace(format, fields=fields, operations=operations)


def _with_matrices(format: Format, names: dict[int, str]) -> Format:
    """The format with no other matrix instructions than these."""
    rest = {number: op for number, op in format.operations.items() if not op.name.startswith(("v_mfma", "v_smfmac"))}
    return replace(format, operations=rest | {number: _matrix_operation(name) for number, name in names.items()})


def _matrix_operation(name: str) -> Operation:
    shape = mfma_shape(name)
    if shape is None:
        raise EncodingError(f"the matrix instruction {name} is not known")
    source, result = shape.operand_bits(64), shape.result_bits(64)
    operands = {
        "vdst": OperandType("FMT_ANY", result, "OPR_VGPR_OR_ACCVGPR"), "src0": OperandType("FMT_ANY", source, "OPR_SRC_VGPR_OR_ACCVGPR"),
        "src1": OperandType("FMT_ANY", source, "OPR_SRC_VGPR_OR_ACCVGPR"),
        "src2": OperandType(f"FMT_NUM_{shape.result.upper()}", result, "OPR_SRC_VGPR_OR_ACCVGPR_OR_CONST"),
    }  # fmt: skip
    return Operation(name, operands, "")


def _format(family: str, klass: Any, operands: Any, pseudocode: Any) -> Format:
    fields = {name: Field(name, f.hi, f.lo, type(f).__name__.removesuffix("Field")) for name, f in klass._fields}
    mask = match = 0
    for name, f in klass._fields:
        if fields[name].kind == "FixedBit":
            mask |= f.mask << f.lo
            match |= f.default << f.lo
    numbers = dict(klass._fields).get("op") or dict(klass._fields)["opy"]
    allowed_numbers = numbers.allowed if numbers.allowed is not None else set(numbers._enum)
    operations = {
        op.value: Operation(
            op.name.lower().removesuffix("_e32").removesuffix("_e64"),
            {k: OperandType(v[0].name, v[1], v[2].name) for k, v in operands.get(op, {}).items()},
            pseudocode.get(op, ""),
        )
        for op in allowed_numbers
    }
    full = klass.__name__
    suffix = next((s for s in _SUFFIXES if full.endswith(s)), "")
    return Format(
        family, full.removesuffix(suffix), suffix.lstrip("_"), klass._base_size, mask, match, fields, operations
    )
