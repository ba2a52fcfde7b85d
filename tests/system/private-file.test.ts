import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writePrivateFile, writePrivateFileSync } from "../../system/private-file.ts";

const WRITERS = [
  { name: "writePrivateFile", write: writePrivateFile },
  {
    name: "writePrivateFileSync",
    write: async (...given: [string, string]) => writePrivateFileSync(...given),
  },
];

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "ptc-private-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test.each(WRITERS)(
  "$name replaces a file that others could read with one of its user alone",
  async ({ write }) => {
    const folder = newFolder();
    const path = join(folder, "file");
    writeFileSync(path, "old");
    chmodSync(path, 0o644);
    await write(path, "new");
    expect(readFileSync(path, "utf8")).toBe("new");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["file"]);
  },
);

test.each(WRITERS)("$name leaves nothing behind where the file cannot be replaced", async ({ write }) => {
  const folder = newFolder();
  mkdirSync(join(folder, "taken/by-a-folder"), { recursive: true });
  await expect(write(join(folder, "taken"), "new")).rejects.toMatchObject({ code: expect.any(String) });
  expect(readdirSync(folder)).toEqual(["taken"]);
  await expect(write(join(folder, "missing/file"), "new")).rejects.toMatchObject({ code: "ENOENT" });
});
