import { once } from "node:events";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { findPyodide, PyodideSnapshots, pyodideFolder } from "../../../sandbox/wasm/pyodide.ts";
import { WASM_IMAGE, WasmEngine } from "../../../sandbox/wasm/wasm-engine.ts";
import { builtWasmRunner } from "./runner-files.ts";

// Pyodide takes seconds to load.
vi.setConfig({ testTimeout: 120_000 });

function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), "ptc-snapshots-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Stands for Pyodide's process: it notes that it ran, and its memory is five bytes. */
function maker(log: string) {
  const code = `require("fs").appendFileSync(${JSON.stringify(log)}, "made "); process.stdout.write("whole")`;
  return { args: ["-e", code], env: process.env };
}

function openSnapshots() {
  const folder = join(folderOfTest(), "cache");
  const log = join(folderOfTest(), "log");
  writeFileSync(log, "");
  const snapshots = new PyodideSnapshots(folder);
  const file = async () => (await snapshots.file(["parts"], maker(log))) as string;
  return { folder, file, made: () => readFileSync(log, "utf8").split(" ").length - 1 };
}

const DAY_MS = 24 * 60 * 60 * 1000;

describe("the snapshots of a user", () => {
  test("are made once, also where several programs ask at the same time", async () => {
    const { file, made } = openSnapshots();
    const [one, other] = await Promise.all([file(), file()]);
    expect([one, await file()]).toEqual([other, one]);
    expect([readFileSync(one, "utf8"), made()]).toEqual(["whole", 1]);
  });

  test.each<[string, (file: string) => void]>([
    ["is gone", (file) => rmSync(file)],
    ["is short", (file) => truncateSync(file, 3)],
    ["is empty", (file) => truncateSync(file, 0)],
    ["others may write", (file) => chmodSync(file, 0o666)],
    [
      "is a link",
      (file) => {
        const { dir, name } = { dir: folderOfTest(), name: "elsewhere" };
        writeFileSync(join(dir, name), "whole");
        rmSync(file);
        symlinkSync(join(dir, name), file);
      },
    ],
  ])("are made again where one %s", async (_what, spoil) => {
    const { file, made } = openSnapshots();
    const first = await file();
    spoil(first);
    expect(readFileSync(await file(), "utf8")).toBe("whole");
    expect(made()).toBe(2);
  });

  test("are made after an attempt that failed", async () => {
    const { folder, file } = openSnapshots();
    const snapshots = new PyodideSnapshots(folder);
    const failing = { args: ["-e", "process.exit(70)"], env: process.env };
    expect(await snapshots.file(["parts"], failing)).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
    expect(await file()).toContain(folder);
  });

  test("stay as long as they are used, and old ones of other versions go", async () => {
    const { folder, file } = openSnapshots();
    const used = await file();
    const old = join(folder, "other-5.bin");
    writeFileSync(old, "other");
    const before = new Date(Date.now() - 20 * DAY_MS);
    for (const path of [used, old]) utimesSync(path, before, before);
    await file();
    expect(Date.now() - statSync(used).mtimeMs).toBeLessThan(DAY_MS);
    const log = join(folderOfTest(), "log");
    const newer = await new PyodideSnapshots(folder).file(["newer"], maker(log));
    expect(
      readdirSync(folder)
        .map((name) => join(folder, name))
        .sort(),
    ).toEqual([used, newer].sort());
  });

  test("are where the cache is, also if that is named relative to this folder", () => {
    expect(pyodideFolder({ XDG_CACHE_HOME: "cache" })).toBe(join(process.cwd(), "cache/ptc/pyodide"));
  });
});

test("a program starts, and so does the next, whatever has become of the snapshot", async () => {
  const snapshots = folderOfTest();
  const folder = await builtWasmRunner();
  const engine = new WasmEngine({ folder, findPyodide: () => findPyodide(import.meta.dirname), snapshots });
  afterAll(() => engine.close());
  const greeting = async () => {
    const written: string[] = [];
    const request = {
      ...({ image: "", runtime: WASM_IMAGE, runner: "python", owner: "test" } as const),
      limits: { memoryMb: 256, cpus: 1, pids: 64 },
    };
    const take = (chunk: Buffer) => void written.push(chunk.toString());
    const started = await engine.start(request, { onStdout: take, onStderr: take });
    const channel = await started.connected;
    const [hello] = (await once(channel, "data")) as [Buffer];
    await started.kill();
    await started.exited;
    return [hello.toString().includes('"hello"'), written];
  };
  const names = () => readdirSync(snapshots);
  expect(await greeting()).toEqual([true, []]);
  const [name = ""] = names();
  const file = join(snapshots, name);
  const memory = readFileSync(file);
  writeFileSync(file, Buffer.alloc(memory.length));
  expect(await greeting()).toEqual([true, []]);
  expect(names()).toEqual([]);
  expect(await greeting()).toEqual([true, []]);
  expect(names()).toEqual([name]);
});
