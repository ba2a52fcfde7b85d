/**
 * A shared library that seeds OpenSSL's generators from the kernel when it is loaded: it calls `RAND_poll` of the loading process
 * and does nothing else. A runner that is restored from a snapshot needs this, because the state of these generators is in its
 * memory, and Node.js has no function to seed them.
 *
 * Its code is a single jump, so the library is written here byte by byte instead of being compiled:
 *
 *     0x0000  the header, four program headers (ELF-64 Object File Format, "ELF header", "Program header table")
 *     0x0200  hash table, symbols, names, one relocation, the code: read and executed
 *     0x10400 dynamic section, then the slot that the loader fills with the address of RAND_poll: written
 *
 * The loader runs `DT_INIT` when the library is loaded (System V ABI, "Initialization and Termination Functions"), and
 * refuses the library where the process has no `RAND_poll`.
 */

/** What differs between machines: the machine's number, the relocation for the address of a symbol, and a jump through a slot. */
interface Machine {
  /** `e_machine`. */
  machine: number;
  /** `R_X86_64_GLOB_DAT` or `R_AARCH64_GLOB_DAT`. */
  globDat: number;
  /** @param at the address of the code. @param slot the address of the slot that holds the target. */
  jump(at: number, slot: number): Buffer;
}

const MACHINES: Readonly<Record<"x64" | "arm64", Machine>> = {
  x64: {
    machine: 62,
    globDat: 6,
    jump(at, slot) {
      // jmp *displacement(%rip), which is relative to the next instruction.
      const code = Buffer.from([0xff, 0x25, 0, 0, 0, 0]);
      code.writeInt32LE(slot - (at + code.length), 2);
      return code;
    },
  },
  arm64: {
    machine: 183,
    globDat: 1025,
    jump(at, slot) {
      const pages = (slot >>> 12) - (at >>> 12);
      const code = Buffer.alloc(12);
      // adrp x16, slot; ldr x17, [x16, slot & 0xfff]; br x17
      code.writeUInt32LE((0x90000010 | ((pages & 3) << 29) | ((pages >>> 2) << 5)) >>> 0, 0);
      code.writeUInt32LE((0xf9400211 | (((slot & 0xfff) >>> 3) << 10)) >>> 0, 4);
      code.writeUInt32LE(0xd61f0220, 8);
      return code;
    },
  },
};

/** The machines for which there is a library, by their `process.arch` names. */
export const RESEED_MACHINES = Object.keys(MACHINES) as (keyof typeof MACHINES)[];

/** Where the executed part begins in the file and in memory. */
const TEXT = 0x200;
/** Where the written part begins in the file. In memory it is on a separate page, however large pages are. */
const DATA = 0x400;
const PAGE = 0x10000;

const [PT_LOAD, PT_DYNAMIC, PT_GNU_STACK] = [1, 2, 0x6474e551];
const [READ, WRITE, EXECUTE] = [4, 2, 1];
const DT = { HASH: 4, STRTAB: 5, SYMTAB: 6, RELA: 7, RELASZ: 8, RELAENT: 9, STRSZ: 10, SYMENT: 11, INIT: 12 };
const RELA_BYTES = 24;
const SYMBOL_BYTES = 24;

/** Builds the library for a machine. Pure: always the same bytes. */
export function buildReseedLibrary(arch: keyof typeof MACHINES): Buffer {
  const { machine, globDat, jump } = MACHINES[arch];
  // One bucket and two empty entries: the library defines no symbols.
  const hash = words([1, 2, 0, 0, 0]);
  const names = Buffer.from("\0RAND_poll\0", "latin1");
  // The empty symbol, then a global function that is defined elsewhere.
  const symbols = Buffer.alloc(2 * SYMBOL_BYTES);
  symbols.writeUInt32LE(1, SYMBOL_BYTES);
  symbols.writeUInt8(0x12, SYMBOL_BYTES + 4);
  const [hashAt, symbolsAt, relocationAt, namesAt, codeAt] = [
    TEXT,
    TEXT + 32,
    TEXT + 96,
    TEXT + 128,
    TEXT + 160,
  ];
  const dynamicAt = DATA + PAGE;
  const dynamic = longs(
    [
      [DT.HASH, hashAt],
      [DT.SYMTAB, symbolsAt],
      [DT.SYMENT, SYMBOL_BYTES],
      [DT.STRTAB, namesAt],
      [DT.STRSZ, names.length],
      [DT.RELA, relocationAt],
      [DT.RELASZ, RELA_BYTES],
      [DT.RELAENT, RELA_BYTES],
      [DT.INIT, codeAt],
      [0, 0],
    ].flat(),
  );
  const slotAt = dynamicAt + dynamic.length;
  const code = jump(codeAt, slotAt);
  const end = DATA + dynamic.length + 8;
  const file = Buffer.alloc(end);
  header(machine).copy(file, 0);
  Buffer.concat([
    programHeader(PT_LOAD, READ | EXECUTE, { file: 0, memory: 0, bytes: codeAt + code.length }),
    programHeader(PT_LOAD, READ | WRITE, { file: DATA, memory: dynamicAt, bytes: end - DATA }),
    programHeader(PT_DYNAMIC, READ | WRITE, { file: DATA, memory: dynamicAt, bytes: dynamic.length }),
    // Without this the loader would require an executable stack.
    programHeader(PT_GNU_STACK, READ | WRITE, { file: 0, memory: 0, bytes: 0 }),
  ]).copy(file, 64);
  hash.copy(file, hashAt);
  symbols.copy(file, symbolsAt);
  longs([slotAt, 2 ** 32 + globDat, 0]).copy(file, relocationAt);
  names.copy(file, namesAt);
  code.copy(file, codeAt);
  dynamic.copy(file, DATA);
  return file;
}

function header(machine: number): Buffer {
  const bytes = Buffer.alloc(64);
  // 64 bits, little-endian, version 1.
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(bytes);
  // A shared object.
  bytes.writeUInt16LE(3, 16);
  bytes.writeUInt16LE(machine, 18);
  bytes.writeUInt32LE(1, 20);
  // The program headers follow. There are no sections.
  bytes.writeUInt32LE(64, 32);
  bytes.writeUInt16LE(64, 52);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(4, 56);
  bytes.writeUInt16LE(64, 58);
  return bytes;
}

function programHeader(
  type: number,
  flags: number,
  { file, memory, bytes }: { file: number; memory: number; bytes: number },
): Buffer {
  return Buffer.concat([
    words([type, flags]),
    longs([file, memory, memory, bytes, bytes, type === PT_LOAD ? PAGE : 8]),
  ]);
}

function words(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, index) => void bytes.writeUInt32LE(value, index * 4));
  return bytes;
}

function longs(values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 8);
  values.forEach((value, index) => void bytes.writeBigUInt64LE(BigInt(value), index * 8));
  return bytes;
}
