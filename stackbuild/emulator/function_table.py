"""The C functions of instructions' forms: one for all instructions that differ in registers and offsets alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from stackbuild.emulator.decoder import Instruction
from stackbuild.emulator.memory import (
    AddressForm,
    BufferAddress,
    MemoryCall,
    c_buffer,
    c_buffer_signature,
    c_memory,
    c_memory_signature,
    is_load_into_lds,
    memory_call,
)
from stackbuild.emulator.operands import UnknownInstruction, source
from stackbuild.emulator.scalars import scalar_text
from stackbuild.emulator.vectors import VectorForm, c_function, signature

_PLACE = "@function@"


@dataclass
class FunctionTable:
    """The functions of forms that bodies call: their definitions by name, in order.

    A function's name ends in a digest of its text and of `options`, so that libraries of several code objects share it.
    """

    lanes: int
    options: str
    definitions: dict[str, str] = field(default_factory=dict)
    declarations: dict[str, str] = field(default_factory=dict)
    names: dict[object, str] = field(default_factory=dict)
    refusals: dict[object, UnknownInstruction] = field(default_factory=dict)

    def vector(self, form: VectorForm) -> str:
        """The function of a vector form."""
        if form in self.refusals:
            raise self.refusals[form]
        if form not in self.names:
            try:
                self._add(form, form.name, c_function(form, _PLACE), signature(form, _PLACE))
            except UnknownInstruction as refusal:
                self.refusals[form] = refusal
                raise
        return self.names[form]

    def memory(self, inst: Instruction) -> tuple[str, list[str]]:
        """The function of a memory instruction, and what it is called with."""
        call = memory_call(inst)
        target = "w->temp" if is_load_into_lds(inst) else f"V({call.target})"
        if call.buffer is not None:
            return self._buffer(inst, call, call.buffer, target)
        form = AddressForm(call.wide, call.address is not None, call.base is not None)
        key = (call.access, form)
        if key not in self.names:
            definition = c_memory(call.access, form, _PLACE)
            self._add(key, inst.name, definition, c_memory_signature(form, _PLACE))
        parameters = [
            target,
            f"V({call.data})",
            f"V({call.second})",
            str(call.offsets[0]),
            str(call.offsets[1]),
        ]
        if form.vector:
            parameters.append(f"V({call.address})")
        if form.scalar:
            wide = call.access.space != "SPACE_SCRATCH"
            parameters.append(f"get64(w->s + {call.base})" if wide else f"S({call.base})")
        return self.names[key], parameters

    def _buffer(self, inst: Instruction, call: MemoryCall, buffer: BufferAddress, target: str) -> tuple[str, list[str]]:
        """The function of a buffer instruction, and what it is called with."""
        rdna = inst.format.family != "cdna"
        key = ("buffer", call.access, buffer.indexed, buffer.offset, rdna)
        if key not in self.names:
            definition = c_buffer(call.access, _PLACE, buffer, rdna=rdna)
            self._add(key, inst.name, definition, c_buffer_signature(_PLACE))
        scalar_offset = scalar_text(source(inst, buffer.scalar_offset, None, self.lanes))
        return self.names[key], [
            target,
            f"V({call.data})",
            f"{call.offsets[0]}",
            f"w->s + {buffer.descriptor}",
            scalar_offset,
            f"V({call.address or 0})",
        ]

    def special(self, key: str, declaration: str, body: str) -> str:
        """A function that is written out."""
        if key not in self.names:
            head = declaration.format(_PLACE)
            self._add(key, key, f"{head}\n{{\n{body}\n}}", head)
        return self.names[key]

    def _add(self, key: object, name: str, definition: str, declaration: str) -> None:
        symbol = f"{name}_{sha256(f'{self.options} {definition}'.encode()).hexdigest()[:16]}"
        self.names[key] = symbol
        self.definitions[symbol] = definition.replace(_PLACE, symbol)
        self.declarations[symbol] = declaration.replace(_PLACE, symbol)
