import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MAX_SECRET_BYTES, type SecretSource, SecretSourceError } from "../../upstream/secret-source.ts";
import {
  readSecretFile,
  runSecretCommand,
  SecretSources,
  sourcedCredentials,
  whyFileIsOpen,
} from "../../upstream/secret-sources.ts";
import { eventually } from "../eventually.ts";
import { newFolder } from "../temporary-folder.ts";
import { isAlive } from "./upstream-fixtures.ts";

const noSignal = () => new AbortController().signal;
const redact = (text: string) => text.replaceAll("known-secret", "[REDACTED]");

function setUp(keyring: Record<string, string> = {}) {
  const folder = newFolder();
  const started: number[] = [];
  const ended: number[] = [];
  const sources = new SecretSources({
    env: { PATH: process.env.PATH },
    keyring: {
      async get(name) {
        if (name === "locked") throw new Error("the keyring is locked");
        return keyring[name];
      },
    },
    redact,
    onSpawn: (pid) => started.push(pid),
    onExit: (pid) => ended.push(pid),
  });
  const command = (...argv: [string, ...string[]]) =>
    ({ from: "command", argv, cwd: folder, place: "", prefix: "" }) as const;
  return { folder, sources, started, ended, command };
}

/** A program for Node.js as a command. */
const node = (code: string): [string, ...string[]] => [process.execPath, "-e", code];

const WAIT = "setInterval(() => {}, 1e3)";

async function problemOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SecretSourceError);
  expect((error as Error).message).not.toContain("\n");
  return (error as Error).message;
}

describe("a secret in a file", () => {
  it.each([
    ["token\n", "token"],
    ["token\r\n", "token"],
    ["token\n\n", "token\n"],
    ["  two\nlines ", "  two\nlines "],
  ])("%j is read as %j", async (content, secret) => {
    const file = join(newFolder(), "token");
    writeFileSync(file, content);
    expect(await readSecretFile(file)).toBe(secret);
  });

  it("is refused when there is none, or it can be none", async () => {
    const folder = newFolder();
    const file = join(folder, "token");
    expect(await problemOf(readSecretFile(file))).toBe(`the file ${file} does not exist`);
    expect(await problemOf(readSecretFile(folder))).toBe(`${folder} is not a regular file`);
    const contents: [string | Buffer, string][] = [
      ["\n", "holds nothing"],
      ["a\0b", "holds a NUL character"],
      [Buffer.from([0xff, 0x61]), "holds bytes that are not text in UTF-8"],
      ["x".repeat(MAX_SECRET_BYTES + 1), "holds more than 65536 bytes, which is too much for a secret"],
    ];
    for (const [content, why] of contents) {
      writeFileSync(file, content);
      expect(await problemOf(readSecretFile(file))).toBe(`the file ${file} ${why}`);
    }
  });

  it("is reported when others may read it", async () => {
    const file = join(newFolder(), "token");
    writeFileSync(file, "token", { mode: 0o600 });
    expect(await whyFileIsOpen(file)).toBeUndefined();
    chmodSync(file, 0o640);
    expect(await whyFileIsOpen(file)).toBe("may be read by others (mode 0640); run `chmod 600` on it");
    expect(await whyFileIsOpen(`${file}-not`)).toBeUndefined();
  });

  it("is read anew each time", async () => {
    const { folder, sources } = setUp();
    const source = { from: "file", path: join(folder, "token"), place: "", prefix: "" } as const;
    writeFileSync(source.path, "one");
    expect(await sources.read(source, noSignal())).toBe("one");
    writeFileSync(source.path, "two");
    expect(await sources.read(source, noSignal())).toBe("two");
  });
});

describe("a secret that a command prints", () => {
  it("is what stands on its stdout, from one run for all that need it, now and later", async () => {
    const { folder, sources, command, started, ended } = setUp();
    const code = `fs.appendFileSync("runs", "x"); setTimeout(() => console.log("tok en"), 50)`;
    const read = () => sources.read(command(...node(code)), noSignal());
    expect(await Promise.all([read(), read(), read()])).toEqual(["tok en", "tok en", "tok en"]);
    expect(await read()).toBe("tok en");
    expect(readFileSync(join(folder, "runs"), "utf8")).toBe("x");
    expect(started).toHaveLength(1);
    expect(ended).toEqual(started);
  });

  it("is asked for again after a failure", async () => {
    const { sources, command } = setUp();
    const code = `if (!fs.existsSync("unlocked")) { fs.writeFileSync("unlocked", ""); process.exit(3) } console.log("it")`;
    expect(await problemOf(sources.read(command(...node(code)), noSignal()))).toBe("`node` exited with 3");
    expect(await sources.read(command(...node(code)), noSignal())).toBe("it");
  });

  it("goes to no shell, and sees no stdin", async () => {
    const { sources, command } = setUp();
    const code = `process.stdin.on("data", () => {}).on("end", () => console.log(process.argv[1]))`;
    const text = "$(id) `id` > x; y";
    expect(await sources.read(command(...node(code), text), noSignal())).toBe(text);
  });

  it.each([
    [
      `console.error("\\n[ERROR] not signed in\\nmore"); process.exit(1)`,
      "exited with 1: [ERROR] not signed in",
    ],
    [
      `console.log("tok-123"); console.error("bad tok-123 of known-secret"); process.exit(2)`,
      "exited with 2: bad [redacted] of [REDACTED]",
    ],
    [
      `console.error("first"); console.error("x".repeat(20_000)); process.exitCode = 1`,
      "exited with 1: first",
    ],
    [`process.kill(process.pid, "SIGTERM"); ${WAIT}`, "was ended by SIGTERM"],
    [``, "printed nothing"],
    [
      `console.log("x".repeat(1e6)); ${WAIT}`,
      "printed more than 65536 bytes, which is too much for a secret",
    ],
  ])("fails in one line without the secret: %s", async (code, what) => {
    const { sources, command } = setUp();
    const message = await problemOf(sources.read(command(...node(code)), noSignal()));
    expect(message).toBe(`\`node\` ${what}`);
  });

  it("fails when there is no such command", async () => {
    const { sources, command } = setUp();
    const message = await problemOf(sources.read(command("no-such-vault", "--token=abc"), noSignal()));
    expect(message).toBe("`no-such-vault` was not run: there is no such command on the PATH");
  });

  it("is given up when it takes too long, with all that it has started", async () => {
    const { folder } = setUp();
    const code = `const { pid } = require("child_process").spawn(process.execPath, ["-e", "${WAIT}"], { stdio: "inherit" });
      fs.writeFileSync("pid", String(pid)); ${WAIT}`;
    const none = () => {};
    const run = runSecretCommand(
      { argv: node(code), cwd: folder, env: {} },
      { redact, onSpawn: none, onExit: none, signal: noSignal(), patienceMs: 2_000 },
    );
    expect(await problemOf(run)).toBe("`node` did not answer within 2 s");
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    await eventually(() => expect(isAlive(pid)).toBe(false));
  });

  it("is ended when nobody waits for it, and not before", async () => {
    const { folder, sources, command, started } = setUp();
    const source = command(
      ...node(`setInterval(() => { if (fs.existsSync("go")) { console.log("it"); process.exit() } }, 20)`),
    );
    const begin = async (count: number) => {
      const stops = [new AbortController(), new AbortController()];
      const reads = stops.map(({ signal }) => sources.read(source, signal));
      await eventually(() => expect(started).toHaveLength(count));
      stops[0]?.abort();
      await problemOf(reads[0] ?? Promise.resolve());
      return { last: reads[1] ?? Promise.resolve(), stop: () => stops[1]?.abort() };
    };
    const given = await begin(1);
    given.stop();
    await problemOf(given.last);
    await eventually(() => expect(isAlive(started[0] ?? 0)).toBe(false));
    const { last } = await begin(2);
    writeFileSync(join(folder, "go"), "");
    expect(await last).toBe("it");
  });
});

it("a secret in the keyring is read, and a missing one is reported with what to do", async () => {
  const { sources } = setUp({ "git/hub": "token" });
  const read = (name: string) => sources.read({ from: "keyring", name, place: "", prefix: "" }, noSignal());
  expect(await read("git/hub")).toBe("token");
  expect(await problemOf(read("gone"))).toBe("the keyring has no 'gone'; put it in with `ptc auth set gone`");
  expect(await problemOf(read("locked"))).toBe("the keyring is locked");
});

describe("headers that a source names itself", () => {
  const source = { place: "ptc.yaml:3", prefix: "", from: "command", argv: ["x"], cwd: "/" } as const;
  const read = async (printed: string, except?: readonly string[]) => {
    const fresh: unknown[] = [];
    const sources = {
      read: async (asked: SecretSource) => {
        fresh.push(asked.from === "command" && asked.isFresh);
        return printed;
      },
    };
    const own = new Map([["hub", { sources: { "*": { ...source, except } }, areHeaders: true }]]);
    const others = { credentialsFor: async () => ({ values: { "X-Team": "ptc" }, secrets: [] }) };
    const credentials = sourcedCredentials(others, own, sources);
    const found = await credentials.credentialsFor("me" as never, "hub", new AbortController().signal);
    return { ...found, fresh };
  };

  it("are each a header and a secret, and read anew for each connection", async () => {
    expect(await read('{"Authorization": "Bearer abc", "X-Key": "k"}')).toEqual({
      values: { "X-Team": "ptc", Authorization: "Bearer abc", "X-Key": "k" },
      secrets: ["Bearer abc", "k"],
      fresh: [true],
    });
  });

  it("take the place of given ones of their names in any case, except of those that stay", async () => {
    expect((await read('{"x-team": "other", "X-Key": "k"}')).values).toEqual({
      "x-team": "other",
      "X-Key": "k",
    });
    const kept = await read('{"X-TEAM": "other", "X-Key": "k"}', ["x-team"]);
    expect(kept).toMatchObject({ values: { "X-Team": "ptc", "X-Key": "k" }, secrets: ["k"] });
  });

  it.each(["Bearer abc", "[]", '{"A": 1}', '{"A b": "c"}', '{"A": "c\\r\\nB: d"}'])(
    "are refused as %s, without a quotation",
    async (printed) => {
      await expect(read(printed)).rejects.toThrow(
        "server 'hub' is not started: ptc.yaml:3: what was read is no JSON object of headers and their values",
      );
    },
  );
});
