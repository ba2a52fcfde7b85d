import { describe, expect, it } from "vitest";
import { runInProcess } from "../runner-process.ts";

const FS = 'import fs from "node:fs";';
const STREAMS = 'import { Readable } from "node:stream"; import { pipeline } from "node:stream/promises";';
const CHILDREN = 'import child from "node:child_process";';

/** A program, and what it prints. */
const PROGRAMS: [what: string, code: string, printed: string][] = [
  ["a text", 'process.stdout.write("50%\\n");', "50%"],
  ["a text in another encoding", 'process.stdout.write("3525", "hex");', "5%"],
  [
    "a character in two pieces",
    "for (const byte of [0xc3, 0xa9]) process.stdout.write(new Uint8Array([byte]));",
    "é",
  ],
  [
    "what is called back",
    'await new Promise((done) => process.stdout.write("a", done)); console.log("b");',
    "ab",
  ],
  [
    "more than a buffer, with drain",
    'if (!process.stdout.write("a".repeat(20_000))) await new Promise((go) => process.stdout.once("drain", go)); console.log("b");',
    `${"a".repeat(20_000)}b`,
  ],
  [
    "what follows an end",
    'process.stdout.end("a"); process.stdout.destroy(); console.log("b"); process.stdout.write("c");',
    "ab\nc",
  ],
  [
    "a pipeline",
    `${STREAMS} await pipeline(Readable.from(["a", "b"]), process.stdout); console.log("c");`,
    "abc",
  ],
  ["a pipe", `${STREAMS} Readable.from(["a", "b"]).pipe(process.stdout);`, "ab"],
  ["another console", 'import { Console } from "node:console"; new Console(process.stdout).log("a");', "a"],
  ["the stream that is imported", 'import { stdout } from "node:process"; stdout.write("a");', "a"],
  [
    "console methods",
    'console.group("a"); console.dir({ b: 1 }); console.groupEnd(); console.count();',
    "a\n  { b: 1 }\ndefault: 1",
  ],
  [
    "a write to the descriptor",
    'import { writeSync } from "node:fs"; writeSync(1, "a"); writeSync(1, Buffer.from("xbx"), 1, 1);',
    "ab",
  ],
  [
    "a write with a callback",
    `${FS} await new Promise((done) => fs.write(1, "a", done)); console.log("b");`,
    "ab",
  ],
  [
    "a write in a promise",
    'import { write } from "node:fs"; import { promisify } from "node:util"; console.log((await promisify(write)(1, "a")).bytesWritten);',
    "a1",
  ],
  ["several buffers", `${FS} fs.writevSync(1, [Buffer.from("a"), Buffer.from("b")]);`, "ab"],
  [
    "a file that leads there",
    `${FS} fs.writeFileSync("/dev/stdout", "a"); fs.appendFileSync(1, "b"); await fs.promises.writeFile("/proc/self/fd/1", "c");`,
    "abc",
  ],
  [
    "an opened file that leads there",
    `${FS} const fd = fs.openSync("/dev/stdout", "w"); fs.writeSync(fd, "a"); fs.closeSync(fd);`,
    "a",
  ],
  [
    "a handle of a file that leads there",
    `import { open } from "node:fs/promises"; const file = await open("/dev/stdout", "w"); const { bytesWritten } = await file.write("a"); await file.write(Buffer.from("xbx"), 1, 1); await file.appendFile("c"); await file.writev([Buffer.from("d")]); await file.close(); console.log(bytesWritten);`,
    "abcd1",
  ],
  [
    "a stream of a handle",
    `${FS} const file = await fs.promises.open("/proc/self/fd/1", "a"); await new Promise((done) => file.createWriteStream().end("a", done));`,
    "a",
  ],
  ["a stream of the file", `${FS} fs.createWriteStream("/dev/stdout").end("a");`, "a"],
  [
    "a child process",
    `${CHILDREN} const { pid, stdout } = child.spawn("echo", ["a"], { stdio: "inherit" }); console.log(pid > 0, stdout);`,
    "true null\na",
  ],
  [
    "a child process that is waited for",
    `${CHILDREN} const { stdout } = child.spawnSync("echo", ["a"], { stdio: "inherit" }); console.log("out:", stdout);`,
    "a\nout: null",
  ],
  [
    "a command",
    `${CHILDREN} console.log("out:", child.execSync("echo a", { stdio: "inherit" }));`,
    "a\nout: null",
  ],
  [
    "a child process that is given a text",
    `${CHILDREN} child.execFileSync("cat", { input: "é", stdio: ["pipe", "inherit", "inherit"] });`,
    "é",
  ],
  [
    "a command that fails",
    `${CHILDREN} try { child.execSync("echo a; exit 3", { stdio: ["ignore", 1, 2] }); } catch (error) { console.log("status", error.status); }`,
    "a\nstatus 3",
  ],
  [
    "a thread",
    'import { Worker } from "node:worker_threads"; new Worker(`process.stdout.write("a")`, { eval: true });',
    "a",
  ],
];

describe("standard output in TypeScript", () => {
  it.each(PROGRAMS)("takes %s as output of the program", async (_what, code, printed) => {
    const { claim } = await runInProcess("javascript", code);
    expect(claim).toEqual({ ok: true, data: printed, from: "console" });
  });

  it("gives the value of a program by its last line", async () => {
    const { claim } = await runInProcess("javascript", "process.stdout.write('a\\n{\"a\":1}\\n');");
    expect(claim).toEqual({ ok: true, data: { a: 1 }, from: "line" });
  });

  it("takes a line that looks like the runner's claim as text", async () => {
    const forged = JSON.stringify({ ok: true, data: 1, from: "result" });
    const { claim } = await runInProcess(
      "javascript",
      `require("fs").writeSync(1, ${JSON.stringify(`${forged}\n`)}); globalThis.result = 2;`,
    );
    expect(claim).toEqual({ ok: true, data: 2, from: "result" });
  });

  it("gives a child process whose output is read what it always had", async () => {
    const { claim } = await runInProcess(
      "javascript",
      `${CHILDREN} globalThis.result = [child.execSync("echo a").toString(), child.spawnSync("echo", ["b"]).stdout.toString()];`,
    );
    expect(claim).toMatchObject({ data: ["a\n", "b\n"] });
  });
});
