import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { INSTALL_PYRIGHT } from "../../../../languages/python/type-check/pyright-process.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

test("pyright is installed in one way, in the version that ptc is tested with, and documents say the same", () => {
  const { peerDependencies } = JSON.parse(read("package.json"));
  expect(INSTALL_PYRIGHT).toBe(`npm install --global pyright@${peerDependencies.pyright}`);
  for (const page of ["docs/python.md", "docs/upgrade.md"]) {
    const told = read(page).match(/npm install[^`\n]*pyright[^`\s]*/g) ?? [];
    expect(new Set(told)).toEqual(new Set([INSTALL_PYRIGHT]));
  }
});
