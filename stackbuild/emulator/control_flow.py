"""Which instructions of a kernel can run, and where its jumps go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stackbuild.emulator.decoder import DecodeError, Instruction, decode
from stackbuild.emulator.encodings import EncodingFamily
from stackbuild.emulator.jumps import KnownScalars

BRANCHES = {
    "s_branch": "1", "s_cbranch_scc0": "!w->scc", "s_cbranch_scc1": "w->scc", "s_cbranch_vccz": "lane_mask(w->s + 106) == 0",
    "s_cbranch_vccnz": "lane_mask(w->s + 106) != 0", "s_cbranch_execz": "EXECUTE == 0", "s_cbranch_execnz": "EXECUTE != 0",
}  # fmt: skip
NOTHING = frozenset((
    "s_nop", "s_waitcnt", "s_waitcnt_depctr", "s_wait_alu", "s_delay_alu", "s_clause", "s_sleep", "s_setprio", "s_inst_prefetch",
    "s_set_inst_prefetch_distance", "s_icache_inv", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_lgkmcnt", "s_waitcnt_expcnt",
    "s_wait_loadcnt", "s_wait_storecnt", "s_wait_dscnt", "s_wait_kmcnt", "s_wait_samplecnt", "s_wait_bvhcnt", "s_wait_expcnt",
    "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_wait_idle", "s_wait_event", "s_ttracedata", "s_ttracedata_imm", "s_dcache_inv",
    "s_dcache_wb", "s_gl1_inv", "buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbl2", "buffer_inv", "buffer_invl2", "buffer_wbinvl1",
    "buffer_wbinvl1_vol", "global_wb", "global_inv", "global_wbinv", "v_nop", "s_sendmsg", "s_version", "s_incperflevel", "s_decperflevel",
    "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data", "s_prefetch_data_pc_rel", "s_prefetch_buffer_data",
))  # fmt: skip
"""Instructions that change no register and no memory of the wave."""
MOST_INSTRUCTIONS = 1 << 18
"""Of a kernel with the functions that it calls: ten times those of the largest kernels of rocBLAS."""


def branch_target(inst: Instruction) -> int:
    """Where a direct branch goes."""
    distance = inst.fields["simm16"]
    return inst.end + 4 * (distance - (1 << 16) if distance >> 15 else distance)


@dataclass(frozen=True)
class ReachedCode:
    """The instructions that can run, by offset, and the addresses that they put into registers: where jumps may go."""

    instructions: dict[int, Instruction]
    addresses: frozenset[int]

    def leaders(self, entry: int) -> list[int]:
        """The first instruction of each basic block, in order."""
        starts = {entry, *self.addresses}
        for inst in self.instructions.values():
            if inst.name in BRANCHES:
                starts |= {branch_target(inst), inst.end}
        return sorted(starts & self.instructions.keys())


@dataclass(frozen=True)
class KernelCode:
    """The code of one kernel: the image that it lies in, the encodings of its target, its first byte and its end.

    `functions` are the bytes that it may call into, from the first to the end: the code of its object. `pointers` are the image's
    relocated words and where they lead.
    """

    image: bytes
    family: EncodingFamily
    entry: int
    end: int
    functions: tuple[int, int] = (0, 0)
    pointers: Mapping[int, int] = field(default_factory=dict)

    def bounds(self, at: int) -> tuple[int, int] | None:
        """The code that may run from an address on without a jump: the kernel's, or all that lies apart from it. None: no code."""
        low, high = self.functions
        if self.entry <= at < self.end:
            return self.entry, self.end
        if low <= at < self.entry:
            return low, self.entry
        return (max(low, self.end), high) if self.end <= at < high else None


def reached_code(code: KernelCode) -> ReachedCode:
    """What can run from the kernel's first instruction, and the functions that it calls. Raises DecodeError.

    What lies beyond the kernel's end is left out, unless an address leads there. A call of an address that is not known may be one
    of any function that a pointer of the image leads to.
    """
    reached_instructions: dict[int, Instruction] = {}
    addresses: set[int] = set()
    returns: set[int] = set()
    waiting = [(code.entry, KnownScalars(pointers=code.pointers))]
    while waiting:
        at, scalars = waiting.pop()
        low, high = code.bounds(at) or (0, 0)
        while at not in reached_instructions and low <= at < high:
            try:
                inst = decode(code.image, code.family, at)
            except DecodeError:
                if at not in returns:
                    raise
                addresses.discard(at)  # behind the call of a function that never returns there is padding
                break
            reached_instructions[at] = inst
            if len(reached_instructions) > MOST_INSTRUCTIONS:
                raise DecodeError(f"the kernel has more than {MOST_INSTRUCTIONS:,} instructions that can run")
            if inst.name in BRANCHES:
                is_branching = scalars.branches(inst.name)
                if is_branching is not False:
                    waiting.append((branch_target(inst), scalars.copy()))
                if inst.name == "s_branch" or is_branching:
                    break
            if inst.name in ("s_endpgm", "s_endpgm_saved", "s_code_end", "s_setpc_b64", "s_trap"):
                break
            if inst.name == "s_swappc_b64" and scalars.pair(inst.fields["ssrc0"]) is None:
                called_places = {place for place in code.pointers.values() if code.bounds(place)} - addresses
                addresses |= called_places
                waiting += [(place, KnownScalars(pointers=code.pointers)) for place in called_places]
            scalars.follow(inst)
            address = scalars.address
            if inst.name == "s_swappc_b64":
                address = inst.end
                returns.add(address)
            if address is not None and code.bounds(address):
                addresses.add(address)
                waiting.append((address, KnownScalars(pointers=code.pointers)))
            at = inst.end
    return ReachedCode(dict(sorted(reached_instructions.items())), frozenset(addresses))
