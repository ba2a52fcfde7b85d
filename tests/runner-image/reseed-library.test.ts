import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildReseedLibrary, RESEED_MACHINES } from "../../runner-image/reseed-library.ts";
import { newFolder } from "../temporary-folder.ts";

/** Loads a library as an addon, which Node.js refuses once the loader has run its code. */
function load(library: Buffer): { status: number | null; stderr: string } {
  const path = join(newFolder(), "library.node");
  writeFileSync(path, library);
  const code = `process.dlopen({ exports: {} }, ${JSON.stringify(path)})`;
  return spawnSync(process.execPath, ["-e", code], { encoding: "utf8" });
}

const own = RESEED_MACHINES.find((machine) => machine === process.arch);

test.skipIf(own === undefined)(
  "the loader takes the library, finds RAND_poll in Node.js and comes back from its code",
  () => {
    const { status, stderr } = load(buildReseedLibrary(own ?? "x64"));
    expect(stderr).toContain("Module did not self-register");
    expect(status).toBe(1);
  },
);

test.skipIf(own === undefined)("the loader refuses it where the process has no such function", () => {
  const library = buildReseedLibrary(own ?? "x64");
  const at = library.indexOf("RAND_poll");
  library.write("RAND_pull", at, "latin1");
  expect(load(library).stderr).toContain("undefined symbol: RAND_pull");
});

test("each machine's library is for that machine, and jumps to where its loader puts the address", () => {
  const [x64, arm64] = [buildReseedLibrary("x64"), buildReseedLibrary("arm64")];
  expect([x64.readUInt16LE(18), arm64.readUInt16LE(18)]).toEqual([62, 183]);
  // The relocation at 0x260 names the slot and its kind: R_X86_64_GLOB_DAT, R_AARCH64_GLOB_DAT.
  for (const [library, kind] of [
    [x64, 6],
    [arm64, 1025],
  ] as const) {
    expect(library.readBigUInt64LE(0x260)).toBe(0x104a0n);
    expect(library.readUInt32LE(0x268)).toBe(kind);
    expect(library.readUInt32LE(0x26c)).toBe(1);
  }
  // jmp *0x101fa(%rip), where 0x2a6 is the next instruction.
  expect(x64.subarray(0x2a0, 0x2a6).toString("hex")).toBe("ff25fa010100");
  // adrp x16, 0x10000; ldr x17, [x16, #0x4a0]; br x17
  expect(arm64.subarray(0x2a0, 0x2ac).toString("hex")).toBe("90000090115242f920021fd6");
});
