import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("a server at every extreme is generated in little memory, with one warning for each problem", () => {
  const fixture = join(import.meta.dirname, "fixtures/hostile-server.ts");
  const run = spawnSync(process.execPath, ["--max-old-space-size=384", fixture], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
    timeout: 25_000,
  });
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: "" });
  const { warnings, tools } = JSON.parse(run.stdout);
  expect(tools).toBe(1_007);
  expect(warnings).toEqual(
    [
      ["huge", "its inputSchema is larger than ptc keeps"],
      ["abroad", "input: a $ref that points outside of the schema is any"],
      ["circular", "input: a type that is defined as itself is any"],
      ["deep", "input: a schema deeper than 32 levels is any beyond them"],
      ["deep", "output: a schema deeper than 32 levels is any beyond them"],
      ["long", "its description is cut after 32768 characters"],
      ["long_property", "input: a description is cut after 32768 characters"],
      ["wide", "input: descriptions beyond 262144 characters are left out"],
    ].map(([tool, message]) => ({ server: "hostile", tool, message })),
  );
});
