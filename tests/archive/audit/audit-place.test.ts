import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import {
  chmod,
  chown,
  link,
  mkdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  unlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { call, RUN, useAuditFolder } from "./audit-folder.ts";

const audit = useAuditFolder();

test("file and folder are their owner's alone", async () => {
  const log = audit.open();
  log.call(RUN, call("a"));
  await log.close();
  expect((await stat(audit.path)).mode & 0o777).toBe(0o600);
  expect((await stat(join(audit.folder, ".ptc"))).mode & 0o777).toBe(0o700);
});

test("what is no regular file of its owner's is told once, left alone, and nothing is lost", async () => {
  const victim = join(audit.folder, "victim");
  await writeFile(victim, "precious", { mode: 0o644 });
  const log = audit.open();
  await mkdir(join(audit.folder, ".ptc"));
  const planted: [string, () => Promise<unknown>][] = [
    ["it is a symbolic link", () => symlink(victim, audit.path)],
    ["it is a symbolic link", () => symlink(join(audit.folder, "nowhere"), audit.path)],
    ["it has a second name elsewhere", () => link(victim, audit.path)],
    ["it is not a regular file", () => promisify(execFile)("mkfifo", [audit.path])],
    ["EISDIR", () => mkdir(audit.path)],
  ];
  for (const [index, [told, plant]] of planted.entries()) {
    await plant();
    for (const tool of ["a", "b"]) log.call(RUN, call(`${tool}-${index}`));
    await log.close();
    expect(audit.failures.splice(0)).toEqual([expect.stringContaining(told)]);
    expect(await readFile(victim, "utf8")).toBe("precious");
    expect(existsSync(join(audit.folder, "nowhere"))).toBe(false);
    await rm(audit.path, { recursive: true });
    await log.close();
    expect((await audit.lines()).map(({ tool }) => tool)).toEqual([`a-${index}`, `b-${index}`]);
    await rm(audit.path);
  }
  expect((await stat(victim)).mode & 0o777).toBe(0o644);
});

test("a file that others may read is made its owner's alone, and a linked folder of theirs is theirs", async () => {
  const elsewhere = join(audit.folder, "elsewhere");
  await mkdir(elsewhere);
  await symlink(elsewhere, join(audit.folder, ".ptc"));
  await writeFile(audit.path, "", { mode: 0o666 });
  const log = audit.open();
  log.call(RUN, call("a"));
  await log.close();
  expect(audit.failures).toEqual([]);
  expect((await stat(join(elsewhere, "audit.jsonl"))).mode & 0o777).toBe(0o600);
  expect((await audit.lines()).map(({ tool }) => tool)).toEqual(["a"]);
});

test("a folder that everybody may write, or a link to somebody else's, is told and not used", async (context) => {
  await mkdir(join(audit.folder, ".ptc"));
  await chmod(join(audit.folder, ".ptc"), 0o777);
  const log = audit.open();
  log.call(RUN, call("a"));
  await log.close();
  expect(audit.failures.splice(0)).toEqual([expect.stringContaining("may be written by everybody")]);
  expect(existsSync(audit.path)).toBe(false);
  if (process.getuid?.() !== 0) return context.skip("only root can give a folder away");
  const theirs = join(audit.folder, "theirs");
  await mkdir(theirs);
  await chown(theirs, 12345, 12345);
  await rm(join(audit.folder, ".ptc"), { recursive: true });
  await symlink(theirs, join(audit.folder, ".ptc"));
  audit.nowMs += 60_000;
  const other = audit.open();
  other.call(RUN, call("a"));
  await other.close();
  expect(audit.failures).toEqual([expect.stringContaining("is a link to another user's folder")]);
  expect(existsSync(join(theirs, "audit.jsonl"))).toBe(false);
});

test("a place that cannot be written is reported once, fails nothing, and gets the missing lines as soon as it can be written", async () => {
  const shared = join(audit.folder, "audit.jsonl");
  await mkdir(shared);
  const log = audit.open(shared);
  for (let index = 0; index < 50; index++) {
    log.call(RUN, call(`tool-${index}`));
    await new Promise(setImmediate);
    audit.nowMs += 1_000;
  }
  await log.close();
  expect(audit.failures).toHaveLength(1);
  expect(audit.failures[0]).toContain(`the audit log ${shared} cannot be written: EISDIR`);
  await rmdir(shared);
  audit.nowMs += 60_000;
  log.call(RUN, call("last"));
  await log.close();
  expect((await audit.lines(shared)).map(({ tool }) => tool)).toEqual([
    ...Array.from({ length: 50 }, (_, index) => `tool-${index}`),
    "last",
  ]);
  await unlink(shared);
  await mkdir(shared);
  log.call(RUN, call("again"));
  await log.close();
  expect(audit.failures).toHaveLength(2);
});

test("a place that cannot be a folder is told once", async () => {
  await writeFile(join(audit.folder, ".ptc"), "a file");
  const log = audit.open();
  log.call(RUN, call("a"));
  await log.close();
  expect(audit.failures).toEqual([expect.stringMatching(/cannot be written: (?:ENOTDIR|EEXIST)/)]);
});

test("a file that was moved away is begun anew", async () => {
  const log = audit.open();
  log.call(RUN, call("a"));
  await log.close();
  await rename(audit.path, `${audit.path}.1`);
  log.call(RUN, call("b"));
  await log.close();
  expect((await audit.lines()).map(({ tool }) => tool)).toEqual(["b"]);
  expect((await audit.lines(`${audit.path}.1`)).map(({ tool }) => tool)).toEqual(["a"]);
});
