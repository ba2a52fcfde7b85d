import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { reportEmitted } from "../../../cli/commands/run.ts";
import type { EmittedBlock } from "../../../protocol/emitted.ts";

const BLOCKS: EmittedBlock[] = [
  { type: "text", text: "hello" },
  { type: "image", data: "AAAA", mimeType: "image/png" },
  {
    type: "resource",
    resource: { uri: "emitted:///..%2F..%2Fetc%2Fa.csv", mimeType: "text/csv", text: "1\n" },
  },
  { type: "resource", resource: { uri: "emitted:///\u001b[2Ja.csv", text: "2\n" } },
  { type: "resource_link", uri: "file:///x", name: "x" },
];

it("what a program emitted is written to new files of plain names, and told on one line each", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ptc-emitted-"));
  writeFileSync(join(folder, "emitted-2.png"), "mine");
  const told: string[] = [];
  await reportEmitted(BLOCKS, folder, (line) => told.push(line));
  expect(readdirSync(folder).sort()).toEqual(
    ["2Ja.csv", "etc_a.csv", "emitted-1.txt", "emitted-2-2.png", "emitted-2.png"].sort(),
  );
  expect(readFileSync(join(folder, "emitted-2.png"), "utf8")).toBe("mine");
  expect(told).toHaveLength(BLOCKS.length);
  expect(told.join("")).not.toMatch(/\p{Cc}/u);
  expect(told[1]).toBe(`ptc: emitted: image/png, 3 B, to ${join(folder, "emitted-2-2.png")}`);
  expect(told.at(-1)).toBe("ptc: emitted: x, link to file:///x");
});

it("what cannot be written is said", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "ptc-emitted-")), "file");
  writeFileSync(file, "");
  const told: string[] = [];
  await reportEmitted(BLOCKS.slice(0, 1), file, (line) => told.push(line));
  expect(told).toEqual([expect.stringMatching(/^ptc: emitted: text, 5 B; it cannot be written to .*file: /)]);
});
