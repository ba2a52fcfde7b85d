import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { ServerCredentials, UnreadValues } from "../../../upstream/authorization/credentials.ts";
import { LocalConnection } from "../../../upstream/local/local-connection.ts";
import { type LocalTool, parseTemplate } from "../../../upstream/local/local-tool.ts";
import { eventually } from "../../eventually.ts";
import { newFolder } from "../../temporary-folder.ts";
import { isAlive, toolCall } from "../upstream-fixtures.ts";

const groups = new Set<number>();
afterEach(() => expect(groups).toEqual(new Set()));

/** A connection with one tool, which runs a script of Node.js or another command. */
function connect(
  { command, ...more }: Partial<LocalTool> & { command: string[] },
  env = {},
  unread?: UnreadValues,
) {
  const [program = "", ...elements] = command;
  const tool: LocalTool = {
    name: "tool",
    inputSchema: { type: "object" },
    program,
    elements: elements.map(parseTemplate),
    stdin: undefined,
    output: "text",
    exitCodes: [0],
    timeoutMs: 60_000,
    maxOutputBytes: 1_000,
    cwd: tmpdir(),
    ...more,
  };
  const connection = new LocalConnection([tool], {
    env,
    unread,
    version: "1",
    onSpawn: (pid) => groups.add(pid),
    onExit: (pid) => groups.delete(pid),
  });
  const call = (args: object = {}, signal = new AbortController().signal) =>
    connection.callTool(toolCall("tool", args, { timeoutMs: 60_000, signal }));
  return { connection, call };
}

const script = (text: string) => ["node", "-e", text];
const failed = (text: string) => ({ isError: true, content: [{ type: "text", text }] });

describe("a local tool", () => {
  it("gets its arguments as JSON on stdin, or what the configuration puts there", async () => {
    const echo = script("process.stdin.pipe(process.stdout)");
    const args = { text: "two words\n" };
    expect(await connect({ command: echo }).call(args)).toEqual({
      content: [],
      structuredContent: '{"text":"two words\\n"}',
    });
    const words = { command: ["wc", "-w"], stdin: parseTemplate("{text}") };
    expect(await connect(words).call(args)).toMatchObject({ structuredContent: "2" });
    const nothing = { command: ["cat"], stdin: [] };
    expect(await connect(nothing).call(args)).toMatchObject({ structuredContent: "" });
    // It need not read it.
    const long = { text: "x".repeat(1_000_000) };
    expect(await connect({ command: ["true"] }).call(long)).toMatchObject({ structuredContent: "" });
  });

  it("runs without a shell, in its folder, with a few variables and its own", async () => {
    const own = "const { PATH, HOME, ...env } = process.env";
    const print = script(`${own}; console.log(JSON.stringify([process.argv.slice(1), process.cwd(), env]))`);
    const cwd = newFolder();
    vi.stubEnv("PTC_LOCAL_SECRET", "not for commands");
    onTestFinished(() => void vi.unstubAllEnvs());
    const env = { "tool/TOKEN": "own", "other/TOKEN": "another's", "tool/LANG": "C" };
    const { call } = connect({ command: [...print, "{a}"], output: "json", cwd }, env);
    const { structuredContent } = (await call({ a: "; echo $HOME | cat" })) as {
      structuredContent: unknown[];
    };
    expect(structuredContent.slice(0, 2)).toEqual([["; echo $HOME | cat"], cwd]);
    const seen = structuredContent[2] as Record<string, string>;
    expect(seen).toMatchObject({ TOKEN: "own", LANG: "C" });
    expect(Object.values(seen)).not.toContain("another's");
    expect(seen).not.toHaveProperty("PTC_LOCAL_SECRET");
  });

  it("gives JSON where it prints that, and says so where it does not", async () => {
    const json = (text: string) =>
      connect({ command: ["printf", "%s", "{text}"], output: "json" }).call({ text });
    expect(await json(' {"a": [1, null]}\n')).toEqual({ content: [], structuredContent: { a: [1, null] } });
    expect(await json("null")).toEqual({ content: [], structuredContent: null });
    for (const text of ["", "{", '{"a":1,"a":2}', "[".repeat(200) + "]".repeat(200)])
      expect(await json(text)).toEqual(failed("`printf` printed something that is not JSON"));
    expect(await connect({ command: ["printf", "\\377"] }).call()).toEqual(
      failed("`printf` printed bytes that are not text in UTF-8"),
    );
  });

  it("fails with its exit code and the end of what it says", async () => {
    const says = "console.error('first'); console.error('no \\u001b[2J such\\nfile'); process.exit(3)";
    const said = failed("`node` ended with exit code 3: first no \\u{1b}[2J such file");
    expect(await connect({ command: script(says) }).call()).toEqual(said);
    const long = script("console.error('x'.repeat(20_000)); console.error('last'); process.exitCode = 3");
    expect(JSON.stringify(await connect({ command: long }).call())).toMatch(/code 3: x{900,} last"/);
    const killed = connect({ command: script("process.kill(process.pid, 'SIGTERM')") });
    expect(await killed.call()).toEqual(failed("`node` was ended by SIGTERM"));
    const unusable: [tool: Parameters<typeof connect>[0], code: string, message: RegExp][] = [
      [
        { command: ["nowhere-to-be-found"] },
        "start_failed",
        /^local tool 'tool' was not run: there is no command `nowhere-to-be-found` on/,
      ],
      [{ command: ["./x"], cwd: "/" }, "start_failed", /there is no `\.\/x`/],
      [{ command: ["/etc/passwd"] }, "start_failed", /may not be executed/],
      [{ command: ["true"], off: "X is not set" }, "off", /is off: X is not set$/],
    ];
    for (const [tool, code, message] of unusable)
      await expect(connect(tool).call()).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
    expect(await connect({ command: ["echo", "{a}"] }).call({ a: "-n" })).toMatchObject({ isError: true });
  });

  it("ends well with the exit codes that mean no failure", async () => {
    const command = ["grep", "-c", "--", "{word}"];
    const grep = { command, stdin: parseTemplate("{text}"), exitCodes: [0, 1] };
    expect(await connect(grep).call({ word: "a", text: "b" })).toMatchObject({ structuredContent: "0" });
    expect(await connect(grep).call({ word: "[", text: "b" })).toMatchObject({ isError: true });
    const killed = connect({ ...grep, command: script("process.kill(process.pid, 'SIGHUP')") });
    expect(await killed.call({})).toEqual(failed("`node` was ended by SIGHUP"));
  });

  it("takes no value for anything but that value", async () => {
    const print = script("console.log(JSON.stringify(process.argv.slice(1)))");
    const command = [...print, "--", "--a={a}", "{b}", "x{c...}", "{list...}"];
    const { call } = connect({ command, output: "json", maxOutputBytes: 1_000_000 });
    const argv = async (args: object) =>
      ((await call(args)) as { structuredContent: string[] }).structuredContent;
    const hostile = [
      ...["$(id)", "`id`", "a\nb\r\n", "{b}", "{list...}", "{{a}}", "%s%n", "\u202e", "'\"\\"],
      ...["--", "-rf /", "@/etc/passwd", "~", "*"],
    ];
    for (const value of hostile) expect(await argv({ a: value, b: value })).toEqual([`--a=${value}`, value]);
    expect(await argv({ list: hostile })).toEqual(hostile);
    expect(await argv({ list: [{ a: 1 }, null, 2, [3]] })).toEqual(['{"a":1}', "null", "2", "[3]"]);
    // A lone surrogate has no bytes of its own.
    expect(await argv({ b: "\ud800" })).toEqual(["\ufffd"]);
    const many = Array(5_000).fill("x");
    for (const args of [{ b: "a\0b" }, { list: ["\0"] }, { a: "x".repeat(100_001) }, { list: many }])
      expect(await call(args)).toMatchObject({ isError: true });
    // Names of what every object has are arguments like any other.
    const inherited = connect({ command: ["echo", "-", "{constructor}", "{toString}", "{__proto__}"] });
    expect(await inherited.call({})).toMatchObject({ structuredContent: "-" });
  });

  it("is not kept waiting by what closes its stdin, leaves its group or holds its pipes, and does not keep a flood", async () => {
    const long = { text: "x".repeat(4_000_000) };
    const early = "require('node:fs').closeSync(0); setTimeout(() => console.log('done'), 20)";
    expect(await connect({ command: script(early) }).call(long)).toMatchObject({ structuredContent: "done" });
    const daemon = `const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "inherit" });
      console.log(child.pid); child.unref(); process.exit(0)`;
    const started = (await connect({ command: script(daemon) }).call()) as { structuredContent: string };
    const pid = Number(started.structuredContent);
    expect(isAlive(pid)).toBe(true);
    process.kill(pid, "SIGKILL");
    const loud = script("for (;;) require('node:fs').writeSync(2, 'x'.repeat(65536) + '\\xff')");
    const late = { code: "call_timeout" };
    await expect(connect({ command: loud, timeoutMs: 500 }).call()).rejects.toMatchObject(late);
    const flood = await connect({ command: ["yes"], maxOutputBytes: 50_000 }).call();
    expect(flood).toEqual(failed("`yes` was killed: it printed more than 50000 bytes"));
  });

  it("is refused alone without a secret that cannot be read, which is read again for each call", async () => {
    let secret: string | undefined;
    let asked = 0;
    const readAll = async (): Promise<ServerCredentials> => {
      asked++;
      const why = { "tool/KEY": "tools.local[0].env.KEY: there is no file" };
      if (secret === undefined) return { values: {}, secrets: [], unread: { why, again: readAll } };
      return { values: { "tool/KEY": secret }, secrets: [secret] };
    };
    const { unread } = await readAll();
    const { connection, call } = connect({ command: ["sh", "-c", "echo $KEY"] }, {}, unread);
    await expect(call()).rejects.toThrow(
      "local tool 'tool' was not run: tools.local[0].env.KEY: there is no file",
    );
    secret = "read-at-last";
    expect(await call()).toMatchObject({ structuredContent: "read-at-last" });
    expect(await call()).toMatchObject({ structuredContent: "read-at-last" });
    expect([asked, connection.secrets()]).toEqual([3, ["read-at-last"]]);
  });

  it("is no longer waited for while its secret is read, when its call is cancelled or the connection closes", async () => {
    const why = { "tool/KEY": "it takes long" };
    const again = (signal: AbortSignal) =>
      new Promise<ServerCredentials>((_, reject) => {
        const stop = () => reject(new Error("no longer read"));
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop);
      });
    const { connection, call } = connect({ command: ["true"] }, {}, { why, again });
    const controller = new AbortController();
    const cancelled = call({}, controller.signal);
    controller.abort();
    await expect(cancelled).rejects.toThrow("no longer read");
    const closed = call();
    await Promise.all([connection.close(), expect(closed).rejects.toThrow("no longer read")]);
  });

  it("is killed with all that it has started when it is late, prints too much, or is cancelled", async () => {
    const children = join(newFolder(), "children");
    /** Has a child that outlives it, and says which. */
    const start = (then: string) =>
      script(
        `const { spawn } = require("node:child_process"); const { appendFileSync } = require("node:fs");
         const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
         appendFileSync(${JSON.stringify(children)}, process.pid + "\\n" + child.pid + "\\n"); ${then}`,
      );
    const wait = "setInterval(() => {}, 1000)";
    await expect(connect({ command: start(wait), timeoutMs: 1_500 }).call()).rejects.toMatchObject({
      code: "call_timeout",
      message: "local tool 'tool' was killed: `node` did not end within 1.5 s",
    });
    const loud = connect({ command: start("setInterval(() => console.log('x'.repeat(500)))") });
    expect(await loud.call()).toEqual(failed("`node` was killed: it printed more than 1000 bytes"));
    const began = (count: number) =>
      eventually(() => expect(readFileSync(children, "utf8").split("\n")).toHaveLength(count + 1));
    const run = new AbortController();
    const cancelled = connect({ command: start(wait) }).call({}, run.signal);
    await began(6);
    run.abort();
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    const { connection, call } = connect({ command: start(wait) });
    const open = call();
    open.catch(() => {});
    await began(8);
    await connection.close();
    await expect(open).rejects.toMatchObject({ code: "cancelled" });
    // One that has ended of itself leaves nothing either.
    const ended = connect({ command: start("process.exit(0)") });
    expect(await ended.call()).toMatchObject({ structuredContent: "" });
    const pids = readFileSync(children, "utf8").trim().split("\n").map(Number);
    expect(pids).toHaveLength(10);
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
  });
});
