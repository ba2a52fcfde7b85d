import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { packDirectory } from "../../../sandbox/image/run-process.ts";
import { newFolder } from "../../temporary-folder.ts";

/** Enough of them that no file system lists them in order by chance. */
const names = Array.from({ length: 40 }, (_, index) => `file-${index}`);

/** A directory with files, written in the given order. */
function layOut(order: string[], mode: number, at: Date): string {
  const directory = newFolder();
  mkdirSync(join(directory, "in"));
  for (const name of order) {
    const path = join(directory, "in", name);
    writeFileSync(path, `content of ${name}`);
    chmodSync(path, mode);
    utimesSync(path, at, at);
  }
  utimesSync(join(directory, "in"), at, at);
  return directory;
}

async function pack(directory: string): Promise<Buffer> {
  const { tar, ended } = packDirectory(directory);
  const [bytes] = await Promise.all([buffer(tar), ended]);
  return bytes;
}

test("the same files make the same bytes, whatever their order, dates, umask and setuid bits", async () => {
  const one = await pack(layOut(names, 0o600, new Date(0)));
  const other = await pack(layOut(names.toReversed(), 0o4644, new Date(1e12)));
  expect(one.includes("content of file-0")).toBe(true);
  // The first is packed as 0644: readable for everybody. So is the second, whose setuid bit is gone.
  expect(one.equals(other)).toBe(true);
});

test("files are packed in the order of their names, whatever order the file system lists them in", async () => {
  const input = await pack(layOut(names, 0o644, new Date(0)));
  const { stdout } = spawnSync("tar", ["--list"], { input, encoding: "utf8" });
  const packed = stdout.split("\n").filter((path) => path.includes("file-"));
  expect(packed).toEqual(names.map((name) => `./in/${name}`).sort());
});

test("another content makes other bytes", async () => {
  const directory = layOut(["a"], 0o644, new Date(0));
  const before = await pack(directory);
  writeFileSync(join(directory, "in", "a"), "another one");
  expect((await pack(directory)).equals(before)).toBe(false);
});

test("a directory that is not there is an error, not an empty archive", async () => {
  const { tar, ended } = packDirectory("/no/such/directory");
  tar.resume();
  await expect(ended).rejects.toMatchObject({
    code: "build_failed",
    message: expect.stringContaining("/no/such/directory"),
  });
});
