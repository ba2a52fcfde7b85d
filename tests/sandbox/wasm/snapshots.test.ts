import { type ChildProcess, spawn } from "node:child_process";
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
  return { folder, snapshots, file, made: () => readFileSync(log, "utf8").split(" ").length - 1 };
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

  test("are not those that others could have put into the folder", async () => {
    const { folder, file, made } = openSnapshots();
    writeFileSync(await file(), "plant");
    chmodSync(folder, 0o777);
    expect(readFileSync(await file(), "utf8")).toBe("whole");
    expect([made(), statSync(folder).mode & 0o777]).toEqual([2, 0o700]);
  });

  test("are not in a folder that is a link", async () => {
    const elsewhere = folderOfTest();
    const link = join(folderOfTest(), "link");
    symlinkSync(elsewhere, link);
    const log = join(folderOfTest(), "log");
    expect(await new PyodideSnapshots(link).file(["parts"], maker(log))).toBeUndefined();
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  test("are made after an attempt that failed", async () => {
    const { folder, snapshots, file } = openSnapshots();
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
    const [hello = ""] = (await Promise.race([
      once(channel, "data"),
      started.exited.then(() => []),
    ])) as Buffer[];
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

/** An engine whose Pyodide never gets ready, and what was asked of it. */
function engineThatNeverGetsReady() {
  const folder = folderOfTest();
  writeFileSync(join(folder, "python.mjs"), "setInterval(() => {}, 1_000);");
  const pyodide = { folder: folderOfTest(), version: "0" };
  const options = { folder, findPyodide: () => pyodide, snapshots: folderOfTest() };
  const engine = new WasmEngine(options);
  afterAll(() => engine.close());
  const request = {
    ...({ image: "", runtime: WASM_IMAGE, runner: "python", owner: "test" } as const),
    limits: { memoryMb: 256, cpus: 1, pids: 64 },
  };
  const start = (signal?: AbortSignal) =>
    engine.start({ ...request, signal }, { onStdout() {}, onStderr() {} });
  return { engine, start, options, request };
}

describe("a program that waits for the snapshot", () => {
  test("is cancelled at once, while others go on waiting", async () => {
    const { engine, start } = engineThatNeverGetsReady();
    const cancelling = new AbortController();
    const other = start();
    const started = start(cancelling.signal);
    cancelling.abort();
    await expect(started).rejects.toMatchObject({ code: "cancelled" });
    await engine.close();
    await expect(other).rejects.toMatchObject({ code: "cancelled" });
  });

  test("leaves no process that makes one when its ptc is closed", async () => {
    const made = Promise.withResolvers<ChildProcess>();
    const snapshots = new PyodideSnapshots(folderOfTest(), made.resolve);
    const found = snapshots.file(["parts"], { args: ["-e", "setInterval(() => {}, 1_000)"], env: {} });
    const maker = await made.promise;
    snapshots.close();
    expect([await found, maker.signalCode]).toEqual([undefined, "SIGKILL"]);
  });

  test.runIf(process.platform === "linux")("leaves none when its ptc is killed", async () => {
    const { options, request } = engineThatNeverGetsReady();
    const { findPyodide: find, ...rest } = options;
    const script = `
      import { WasmEngine } from ${JSON.stringify(join(import.meta.dirname, "../../../sandbox/wasm/wasm-engine.ts"))};
      import { readFileSync } from "node:fs";
      // In a turn after that in which they were started, so that one knows of the other.
      setInterval(() => {
        const children = readFileSync(\`/proc/self/task/\${process.pid}/children\`, "utf8");
        if (children.trim().split(" ").length === 2) console.log("begun");
      }, 20);
      const engine = new WasmEngine({ ...${JSON.stringify(rest)}, findPyodide: () => (${JSON.stringify(find())}) });
      engine.start(${JSON.stringify(request)}, {});`;
    const ptc = spawn(process.execPath, ["--input-type=module-typescript", "--no-warnings", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(ptc.stdout, "data");
    const children = () =>
      readFileSync(`/proc/${ptc.pid}/task/${ptc.pid}/children`, "utf8").trim().split(" ");
    const commandOf = (pid: string) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    };
    const makers = () => children().filter((pid) => commandOf(pid).includes(join(rest.folder, "python.mjs")));
    expect([makers().length, children().length]).toEqual([1, 2]);
    const [maker = ""] = makers();
    ptc.kill("SIGKILL");
    await vi.waitFor(() => expect(commandOf(maker)).toBe(""), { timeout: 60_000 });
  });
});
