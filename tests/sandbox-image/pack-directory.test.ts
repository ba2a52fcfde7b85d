import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";
import { packDirectory } from "../../sandbox/pack-directory.ts";

const directories: string[] = [];

afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** A directory with two files, written in the given order. */
function layOut(order: string[], mode: number, at: Date): string {
  const directory = mkdtempSync(join(tmpdir(), "ptc-pack-"));
  directories.push(directory);
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
  const one = await pack(layOut(["a", "b"], 0o600, new Date(0)));
  const other = await pack(layOut(["b", "a"], 0o4644, new Date(1e12)));
  expect(one.includes("content of a")).toBe(true);
  // The first is packed as 0644: readable for everybody. So is the second, whose setuid bit is gone.
  expect(one.equals(other)).toBe(true);
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
