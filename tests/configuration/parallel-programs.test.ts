import { expect, it } from "vitest";
import { defaultParallelPrograms } from "../../configuration/parse.ts";

const GIB = 1024 ** 3;

it.each([
  [{ cores: 1, memoryBytes: 8 * GIB }, 512, 2],
  [{ cores: 2, memoryBytes: 24 * GIB }, 512, 4],
  [{ cores: 8, memoryBytes: 4 * GIB }, 512, 4],
  [{ cores: 64, memoryBytes: 512 * GIB }, 512, 32],
  [{ cores: 4, memoryBytes: 1 * GIB }, 2_048, 1],
])("on %j with programs of %i MB, %i run at once", (machine, memoryMb, expected) => {
  expect(defaultParallelPrograms(machine, memoryMb)).toBe(expected);
});
