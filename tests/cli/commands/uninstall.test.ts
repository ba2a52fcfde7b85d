import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import type { Surroundings } from "../../../cli/command.ts";
import { stopHostAt } from "../../../cli/commands/host.ts";
import { type Machine, uninstall } from "../../../cli/commands/uninstall.ts";
import { currentProcess, formatIdentity, startTimeOf } from "../../../system/process-identity.ts";
import { memoryPackage } from "../../secrets/memory-keyring.ts";
import { ptcIn } from "../in-process.ts";
import { surroundingsIn } from "../surroundings.ts";
import { FakeTerminal } from "../terminal/terminals.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "ptc-uninstall-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A folder and a home in which ptc has been used, and whose files of clients have entries of it. */
async function newProject() {
  const folder = mkdtempSync(join(root, "project-"));
  const home = mkdtempSync(join(root, "home-"));
  const env = {
    HOME: home,
    PTC_KEYRING: "off",
  };
  const images = new Map([
    ["ptc-runner:latest", 2048],
    ["ptc-base:debian", 1024],
  ]);
  // What is removed here is of this home alone, and never what the machine has.
  const machine: Machine = {
    runFolders: [join(home, "run")],
    images: async () => ({
      listOwn: async () => [...images].map(([reference, bytes]) => ({ reference, bytes })),
      async remove(reference) {
        if (reference === "ptc-base:debian" && images.has("ptc-runner:latest")) throw new Error("it is used");
        images.delete(reference);
      },
    }),
    stopHost: async () => {},
  };
  const run = (args: string[], terminal: Partial<Surroundings> = {}) =>
    ptcIn(folder, args, { script: join(home, "bin/ptc"), env, ...terminal });
  const remove = async (flags: Parameters<typeof uninstall>[0], terminal: Partial<Surroundings> = {}) => {
    const own = surroundingsIn(folder);
    const code = await uninstall(flags, { ...own, env, ...terminal }, machine).catch(
      (error: Error) => error.message,
    );
    return { code, stdout: own.stdout.text, stderr: own.stderr.text };
  };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const before = '{\n  "mcpServers": {\n    "files": { "command": "npx" } // mine\n  }\n}\n';
  write(join(folder, ".mcp.json"), before);
  write(
    join(home, ".claude.json"),
    JSON.stringify({
      projects: {
        "/else": {
          mcpServers: {
            mine: { command: "ptc", args: ["serve", "--config", "/else/ptc.yaml"] },
            a: { command: "a" },
          },
        },
      },
    }),
  );
  expect((await run(["init", "--import", join(folder, ".mcp.json"), "--take-over"])).code).toBe(0);
  expect((await run(["install", "cursor", "--scope", "user", "--yes"])).code).toBe(0);
  write(join(home, ".local/state/ptc/secrets.json"), '{"version":1,"values":{"secret/x":"v"}}\n');
  write(join(home, "run/keep"), "");
  write(join(folder, ".ptc/archive.db"), "runs");
  write(join(folder, "programs/a.ts"), "1");
  write(join(folder, "generated/servers/a/index.ts"), "1");
  return {
    folder,
    home,
    env,
    before,
    images,
    machine,
    remove,
    atTerminal: ({ stdin, stderr }: FakeTerminal) => remove({}, { stdin, stderr }),
  };
}

describe("ptc uninstall", () => {
  it("says what it would remove, with sizes, and removes nothing where nobody can be asked", async () => {
    const { folder, home, images, remove } = await newProject();
    const { code, stdout } = await remove({});
    expect(code).toBe("nothing was removed, as nobody can be asked here; --yes removes it");
    expect(images.size).toBe(2);
    expect(stdout).toMatch(/^image +2\.0 kB +the image ptc-runner:latest$/m);
    expect(stdout).toContain("'files' put back into");
    expect(stdout).toMatch(/^state +[\d.]+ k?B +.*\.local\/state\/ptc$/m);
    expect(stdout).toMatch(/^What stays: ptc\.yaml, programs\/ and generated\/, \.ptc\//m);
    expect(existsSync(join(home, ".local/state/ptc/secrets.json"))).toBe(true);
    expect(existsSync(join(home, ".cursor/mcp.json"))).toBe(true);
    const listed = JSON.parse((await remove({ json: true })).stdout);
    expect(listed).toMatchObject({
      removed: false,
      parts: expect.arrayContaining([
        { kind: "state", what: expect.stringMatching(/state\/ptc$/), bytes: expect.any(Number) },
      ]),
    });
    expect(existsSync(join(folder, ".ptc/archive.db"))).toBe(true);
  });

  it("removes what is ptc's with --yes, puts clients back as they were, and leaves what is the user's", async () => {
    const { folder, home, before, images, remove } = await newProject();
    const { code, stdout, stderr } = await remove({ yes: true });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(images.size).toBe(0);
    expect(existsSync(join(home, "run"))).toBe(false);
    expect(stdout).toMatch(/ {2}npm uninstall --global ptc\n$/);
    expect(existsSync(join(home, ".local/state/ptc"))).toBe(false);
    expect(existsSync(join(home, ".cursor/mcp.json"))).toBe(false);
    expect(readFileSync(join(folder, ".mcp.json"), "utf8")).toBe(before);
    // An entry that `claude mcp add` made starts ptc too, in any folder.
    expect(JSON.parse(readFileSync(join(home, ".claude.json"), "utf8"))).toEqual({
      projects: { "/else": { mcpServers: { a: { command: "a" } } } },
    });
    for (const file of ["ptc.yaml", ".ptc/archive.db", "programs/a.ts", "generated/servers/a/index.ts"])
      expect(existsSync(join(folder, file))).toBe(true);
  });

  it("removes the runs of the folder with --archive only", async () => {
    const { folder, remove } = await newProject();
    const { stdout } = await remove({ archive: true, yes: true });
    expect(stdout).toMatch(/^archive +4 B +.*\.ptc$/m);
    expect(existsSync(join(folder, ".ptc"))).toBe(false);
    expect(existsSync(join(folder, "ptc.yaml"))).toBe(true);
  });

  it.each([
    ["y\r", 0],
    ["\r", 1],
    ["\u0003", 1],
  ])("asks on a terminal, and takes %j as it is meant", async (typed, code) => {
    const { home, atTerminal } = await newProject();
    const terminal = new FakeTerminal(200);
    const uninstalling = atTerminal(terminal);
    await terminal.shows(/Remove these\? \[y\/N\]: $/);
    terminal.type(typed);
    expect((await uninstalling).code).toBe(code);
    expect(existsSync(join(home, ".local/state/ptc"))).toBe(code !== 0);
  });

  it("keeps what could not be undone, says so, and goes on with the rest", async () => {
    const { folder, home, remove } = await newProject();
    writeFileSync(join(folder, ".mcp.json"), '{"mcpServers":{"files":{"command":"other"}}}');
    const { code, stderr } = await remove({ yes: true });
    expect(code).toBe(1);
    expect(stderr).toMatch(/'files' is there again meanwhile/);
    expect(stderr).toMatch(/client-changes still says what was changed/);
    expect(existsSync(join(home, ".local/state/ptc/secrets.json"))).toBe(false);
    expect(existsSync(join(home, ".local/state/ptc/client-changes"))).toBe(true);
    expect(existsSync(join(home, ".cursor/mcp.json"))).toBe(false);
  });

  it("follows no link out of ptc's folders", async () => {
    const { home, remove } = await newProject();
    const outside = join(home, "outside");
    mkdirSync(outside);
    writeFileSync(join(outside, "mine"), "mine");
    symlinkSync(outside, join(home, ".local/state/ptc/link"));
    expect((await remove({ yes: true })).code).toBe(0);
    expect(readFileSync(join(outside, "mine"), "utf8")).toBe("mine");
  });

  it("changes no file to which a link leads out of the folder, nor an entry of another server that ptc is an argument of", async () => {
    const { folder, home, remove } = await newProject();
    const theirs = join(home, "theirs.json");
    const entries = JSON.stringify({ mcpServers: { a: { command: "ptc", args: ["serve"] } } });
    writeFileSync(theirs, entries);
    mkdirSync(join(folder, ".cursor"));
    symlinkSync(theirs, join(folder, ".cursor/mcp.json"));
    const other = JSON.stringify({ mcpServers: { b: { command: "files", args: ["serve", "/src/ptc"] } } });
    mkdirSync(join(folder, ".vscode"));
    writeFileSync(join(folder, ".vscode/mcp.json"), other);
    expect((await remove({ yes: true })).code).toBe(0);
    expect(readFileSync(theirs, "utf8")).toBe(entries);
    expect(readFileSync(join(folder, ".vscode/mcp.json"), "utf8")).toBe(other);
  });

  it("leaves the folder of a process that started while the question was open", async () => {
    const { home, atTerminal } = await newProject();
    const terminal = new FakeTerminal(200);
    const uninstalling = atTerminal(terminal);
    await terminal.shows(/Remove these\? \[y\/N\]: $/);
    const parent = {
      ...currentProcess(),
      pid: process.ppid,
      startTime: startTimeOf(process.ppid) ?? "",
    };
    mkdirSync(join(home, "run", formatIdentity(parent)));
    terminal.type("y\r");
    expect((await uninstalling).code).toBe(1);
    expect(existsSync(join(home, "run"))).toBe(true);
    expect(existsSync(join(home, ".local/state/ptc"))).toBe(false);
  });

  it.skipIf(process.getuid?.() !== 0)("leaves state of another user, and says so", async () => {
    const { home, remove } = await newProject();
    const state = join(home, ".local/state/ptc");
    chownSync(state, 65_534, 65_534);
    expect((await remove({ yes: true })).stderr).toContain(`${state} belongs to another user, and stays`);
    expect(existsSync(state)).toBe(true);
  });

  it("removes what the system's keyring has of ptc, and nothing else in it", async () => {
    const { env, machine, remove } = await newProject();
    let error: Error | undefined;
    const { load, values } = memoryPackage(() => error);
    Object.assign(env, { PTC_KEYRING: undefined });
    machine.loadKeyring = load;
    for (const key of ["ptc/secret/a", "ptc/login/b", "other/secret/a"]) values.set(key, "s3cret");
    const { stdout } = await remove({});
    expect(stdout).toMatch(/^keyring +login\/b in the system's keyring \(.+\)$/m);
    expect(stdout).toMatch(/^keyring +secret\/a in the system's keyring \(.+\)$/m);
    expect(stdout).not.toContain("s3cret");
    expect(values.size).toBe(3);
    Object.assign(env, { PTC_KEYRING: "off" });
    expect((await remove({})).stdout).not.toContain("keyring");
    Object.assign(env, { PTC_KEYRING: undefined });
    expect((await remove({ yes: true })).code).toBe(0);
    expect([...values.keys()]).toEqual(["other/secret/a"]);
  });

  it("says which secrets of the system's keyring stay where it is locked meanwhile, and that it cannot be read", async () => {
    const { env, home, machine, remove } = await newProject();
    let error: Error | undefined;
    const { load, values } = memoryPackage(() => error);
    Object.assign(env, { PTC_KEYRING: undefined });
    values.set("ptc/secret/a", "s3cret");
    const lock = () => {
      error = new Error("locked: s3cret");
    };
    machine.loadKeyring = async () => {
      const { findCredentialsAsync, ...rest } = await load();
      return { ...rest, findCredentialsAsync: (...args) => findCredentialsAsync(...args).finally(lock) };
    };
    const { code, stderr } = await remove({ yes: true });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ptc: secret\/a in the system's keyring .* stays: .*; unlock it$/m);
    expect(stderr).not.toContain("s3cret");
    expect(existsSync(join(home, ".local/state/ptc"))).toBe(false);
    error = undefined;
    machine.loadKeyring = async () => ({
      ...(await load()),
      findCredentialsAsync: () => Promise.reject(new Error("locked: s3cret")),
    });
    expect((await remove({})).stderr).toBe(
      "ptc: warning: secrets in the keyring are not looked for: the system's keyring cannot be read; unlock it\n",
    );
    expect(values.size).toBe(1);
  });

  it("ends a background host before it removes its folder, and leaves both where the host goes on", async () => {
    const { home, machine, remove } = await newProject();
    chmodSync(join(home, "run"), 0o700);
    const folder = join(home, "run/hosts/a");
    const host = spawn(process.execPath, [join(import.meta.dirname, "processes/host-process.ts"), folder], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void host.kill("SIGKILL"));
    const ended = once(host, "exit");
    await once(host.stdout, "data");
    const part = `the background host a (process ${host.pid})`;
    expect((await remove({})).stdout).toContain(part);
    expect(host.exitCode).toBe(null);

    machine.stopHost = async () => {
      throw new Error("it hears nothing");
    };
    const kept = await remove({ yes: true });
    const stays = `ptc: ${join(home, "run")} stays: a background host still runs; uninstall again when it has ended`;
    expect(kept).toMatchObject({ code: 1, stderr: `ptc: ${part} stays: it hears nothing\n${stays}\n` });
    expect(host.exitCode).toBe(null);

    machine.stopHost = stopHostAt;
    expect(await remove({ yes: true })).toMatchObject({ code: 0, stderr: "" });
    expect(await ended).toEqual([0, null]);
    expect(existsSync(join(home, "run"))).toBe(false);
  });

  it("leaves the folder of processes that run, and what cannot be looked for, and says so", async () => {
    const { home, machine, remove } = await newProject();
    mkdirSync(
      join(
        home,
        "run",
        formatIdentity({
          ...currentProcess(),
          pid: process.ppid,
          startTime: startTimeOf(process.ppid) ?? "",
        }),
      ),
    );
    machine.images = async () => {
      throw new Error("no engine answers");
    };
    const { stderr } = await remove({ yes: true });
    expect(stderr).toMatch(/^ptc: warning: images are not looked for: no engine answers$/m);
    expect(stderr).toMatch(/^ptc: warning: ptc still runs \(process \d+\)/m);
    expect(existsSync(join(home, "run"))).toBe(true);
    expect(existsSync(join(home, ".local/state/ptc"))).toBe(false);
  });
});
