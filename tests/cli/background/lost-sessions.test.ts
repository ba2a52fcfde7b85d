import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { LostSessions } from "../../../cli/background/host-files.ts";

test("what is said of a session that ended with its host is said once, and never in the way", () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-lost-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const before = new LostSessions({ folder });
  before.add([], "nothing was open");
  expect(readdirSync(folder)).toEqual([]);
  before.add(["a", "b"], "with the first");
  before.add(["b"], "with the second");
  const after = new LostSessions({ folder });
  expect([after.take("c"), after.take("b"), after.take("b"), after.take("a")]).toEqual([
    undefined,
    "with the second",
    undefined,
    "with the first",
  ]);
  expect(readdirSync(folder)).toEqual([]);
  for (const text of ["", "{", '[["a"]]', '{"a":"b"}', "[".repeat(300_000)]) {
    writeFileSync(join(folder, "lost-sessions.json"), text);
    expect(after.take("a")).toBeUndefined();
  }
  after.add(
    Array.from({ length: 300 }, (_, index) => `name-${index}`),
    "with many",
  );
  expect([after.take("name-99"), after.take("name-100")]).toEqual([undefined, "with many"]);
});
