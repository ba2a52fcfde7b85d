import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openForReading, openForWriting } from "../../../archive/sqlite/connection.ts";
import { makeArchive, refusal, useFolder } from "../made-archives.ts";

const at = useFolder();

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const fresh = (name: string) => at(name, "archive.db");

describe("an archive is its owner's alone", () => {
  test("while it is used, under a umask that gives everything to everybody", async () => {
    const path = fresh("umask");
    const fixture = join(import.meta.dirname, "fixtures/archive-forever.ts");
    const script = 'umask 000; exec "$0" "$1" "$2"';
    const child = spawn("sh", ["-c", script, process.execPath, fixture, path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    expect(modeOf(join(path, ".."))).toBe("700");
    const files = readdirSync(join(path, ".."));
    expect(files.sort()).toEqual([".gitignore", "archive.db", "archive.db-shm", "archive.db-wal"]);
    for (const file of files) expect([file, modeOf(join(path, "..", file))]).toEqual([file, "600"]);
    child.kill("SIGKILL");
    await once(child, "close");
  });

  test("again, when its file was opened up", () => {
    const path = fresh("opened-up");
    makeArchive(path);
    chmodSync(path, 0o666);
    openForWriting(path).close();
    expect(modeOf(path)).toBe("600");
  });

  test("and a folder that was there keeps its mode", () => {
    const path = fresh("was-there");
    mkdirSync(join(path, ".."), { mode: 0o755 });
    makeArchive(path);
    expect(modeOf(join(path, ".."))).toBe("755");
  });

  test("or nothing is written: to links, second names, other kinds of files and folders of everybody's", () => {
    const victim = at("victim");
    writeFileSync(victim, "precious", { mode: 0o644 });
    const planted: [string, (path: string) => void][] = [
      ["is not a regular file", (path) => symlinkSync(victim, path)],
      ["is not a regular file", (path) => symlinkSync(victim, `${path}-wal`)],
      ["is not a regular file", (path) => symlinkSync(victim, `${path}-shm`)],
      ["is not a regular file", (path) => symlinkSync(at("nowhere"), `${path}-journal`)],
      ["is not a regular file", (path) => mkdirSync(path)],
      ["has a second name elsewhere", (path) => linkSync(victim, path)],
      ["may be written by everybody", (path) => chmodSync(join(path, ".."), 0o777)],
    ];
    for (const [index, [named, plant]] of planted.entries()) {
      const path = fresh(`planted-${index}`);
      mkdirSync(join(path, ".."));
      plant(path);
      expect(refusal(() => openForWriting(path))).toMatchObject({
        code: "unsafe",
        message: expect.stringContaining(named),
      });
    }
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(modeOf(victim)).toBe("644");
  });

  test("and is read through no link either, save one to a folder of its owner's", () => {
    const path = fresh("read");
    makeArchive(path);
    const link = at("link.db");
    symlinkSync(path, link);
    expect(refusal(() => openForReading(link))).toMatchObject({ code: "unsafe" });
    const linked = at("linked-folder");
    symlinkSync(join(path, ".."), linked);
    openForReading(join(linked, "archive.db")).close();
    openForWriting(join(linked, "archive.db")).close();
    symlinkSync("/dev/zero", `${path}-wal`);
    expect(refusal(() => openForReading(path))).toMatchObject({ code: "unsafe" });
  });

  test("and a link to somebody else's folder is not followed", (context) => {
    if (process.getuid?.() !== 0) return context.skip("only root can give a folder away");
    const path = fresh("theirs");
    mkdirSync(join(path, ".."));
    chownSync(join(path, ".."), 12345, 12345);
    const linked = at("linked-theirs");
    symlinkSync(join(path, ".."), linked);
    expect(refusal(() => openForWriting(join(linked, "archive.db")))).toMatchObject({ code: "unsafe" });
    expect(readdirSync(join(path, ".."))).toEqual([]);
  });
});
