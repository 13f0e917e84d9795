"""Matrix instructions → calls of the functions of native/matrices.h."""

from __future__ import annotations

from dataclasses import dataclass, replace

from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.encodings import OperandType
from stackbuild.emulator.function_table import FunctionTable
from stackbuild.emulator.matrix_shapes import MatrixShape, mfma_shape, wmma_shape
from stackbuild.emulator.operands import UnknownInstruction, source
from stackbuild.emulator.scalars import scalar_text

_ROWS = "uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c, uint64_t word"
_RESULTS = {"f32": "float", "i32": "int", "f64": "double"}


@dataclass(frozen=True)
class MatrixCall:
    """The C text of one instruction, and the vector registers that it touches: those below `rows`."""

    text: str
    rows: int


def matrix_call(inst: Instruction, lanes: int, table: FunctionTable) -> MatrixCall:
    """The call of a matrix instruction. Raises UnknownInstruction."""
    shape = mfma_shape(inst.name)
    if shape:
        return _mfma(inst, shape, lanes, table)
    shape = wmma_shape(inst.name)
    if shape:
        return _wmma(inst, shape, lanes, table)
    raise UnknownInstruction(f"{inst.name} is not known")


def _addend(inst: Instruction, acc: int, shape: MatrixShape, lanes: int) -> tuple[str, str]:
    """The row of the third operand, or the word that stands in all its places."""
    code = inst.fields["src2"]
    if code >= 256:
        return f"V({code - 256 + acc})", "0"
    operand_type = OperandType("FMT_NUM_F64", 64, "") if shape.result == "f64" else None
    return "0", scalar_text(source(inst, code, operand_type, lanes))


def _mfma(inst: Instruction, shape: MatrixShape, lanes: int, table: FunctionTable) -> MatrixCall:
    f = inst.fields
    if "cbsz" not in f:
        raise UnknownInstruction(f"{inst.name} in this form is not known")
    acc = 256 if f["acc_cd"] else 0
    c, word = _addend(inst, acc, shape, lanes)
    a, b = (f[n] - 256 + (256 if f["acc"] >> i & 1 else 0) for i, n in enumerate(("src0", "src1")))
    fnuz = "_FNUZ" if inst.operation.operands["src0"].form.endswith("FNUZ") else ""
    elements = [f"ELEMENT_{name.upper()}{fnuz}" for name in (shape.element, shape.second or shape.element)]
    body = (
        f"    mfma_{_RESULTS[shape.result]}(d, a, b, c, word, {shape.rows}, {shape.depth}, {shape.blocks}, {', '.join(elements)}, "
        "cbsz, abid, blgp);"
    )
    head = f"void {{}}({_ROWS}, int cbsz, int abid, int blgp)"
    symbol = table.special(inst.name, head, body)
    target = f["vdst"] + acc
    text = f"{symbol}(V({target}), V({a}), V({b}), {c}, {word}, {f['cbsz']}, {f['abid']}, {f['blgp']});"
    words = max(1, shape.operand_bits(lanes) // 32)
    rows = max(a + words, b + words, target + shape.result_bits(lanes) // 32)
    return MatrixCall(text, _with_addend(inst, rows, acc, shape.result_bits(lanes) // 32))


def _wmma(inst: Instruction, shape: MatrixShape, lanes: int, table: FunctionTable) -> MatrixCall:
    f, rdna4 = inst.fields, inst.format.family == "rdna4"
    whole = shape.result == "i32"
    if f["neg_hi"] or (not whole and (f["neg"] or f["clmp"])):
        raise UnknownInstruction(f"{inst.name} with a sign or clamp is not known")
    if whole and rdna4 and lanes == 64:
        raise UnknownInstruction(f"{inst.name} in waves of 64 is not known")
    if min(f["src0"], f["src1"]) < 256:
        raise UnknownInstruction(f"{inst.name} of no vector register is not known")
    c, word = _addend(inst, 0, shape, lanes)
    if c == "0" and shape.result in ("f16", "bf16"):
        word = f"({word} & 0xffffu) * 0x10001u"
    if whole:
        body = f"    wmma_int(d, a, b, c, (uint32_t)word, {shape.depth}, {8 if shape.element == 'iu8' else 4}, flags, {int(rdna4)});"
        flags = f["neg"] & 3 | f["clmp"] << 2
    else:
        flags = f["opsel"] >> 2 & 1
        short = shape.result != "f32"
        body = (
            f"    wmma(d, a, b, c, (uint32_t)word, {int(shape.element == 'bf16')}, {int(short)}, flags, {int(rdna4)});"
        )
    symbol = table.special(inst.name, f"void {{}}({_ROWS}, int flags)", body)
    text = f"{symbol}(V({f['vdst']}), V({f['src0'] - 256}), V({f['src1'] - 256}), {c}, {word}, {flags});"
    per_lane = replace(shape, depth=shape.depth * (1 if rdna4 else lanes // 16))  # RDNA3's lanes hold whole rows
    words, results = max(1, per_lane.operand_bits(lanes) // 32), 256 // lanes
    rows = max(f["src0"] - 256 + words, f["src1"] - 256 + words, f["vdst"] + results)
    return MatrixCall(text, _with_addend(inst, rows, 0, results))


def _with_addend(inst: Instruction, rows: int, acc: int, words: int) -> int:
    code = inst.fields["src2"]
    return max(rows, code - 256 + acc + words) if code >= 256 else rows
