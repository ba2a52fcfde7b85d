import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { uninstall } from "../../../cli/commands/uninstall.ts";
import { stopHostAt } from "../../../project/background/host-control.ts";
import type { Surroundings } from "../../../project/surroundings.ts";
import type { Machine } from "../../../project/uninstall.ts";
import { currentProcess, formatIdentity, startTimeOf } from "../../../system/process-identity.ts";
import { memoryPackage } from "../../secrets/memory-keyring.ts";
import { userProject } from "../in-process.ts";
import { surroundingsIn } from "../surroundings.ts";
import { FakeTerminal } from "../terminal/terminals.ts";

const STATE = "~/.local/state/ptc";
const CURSOR = "~/.cursor/mcp.json";
/** The user's own file of a client, before ptc has taken it over. */
const BEFORE = '{\n  "mcpServers": {\n    "files": { "command": "npx" } // mine\n  }\n}\n';
/** An entry that `claude mcp add` made. */
const ADDED = { command: "ptc", args: ["serve", "--config", "/else/ptc.yaml"] };

/** A folder and a home in which ptc has been used, and whose files of clients have entries of it. */
async function newProject() {
  const mcpServers = { mine: ADDED, a: { command: "a" } };
  const project = userProject({
    ".mcp.json": BEFORE,
    "~/.claude.json": JSON.stringify({ projects: { "/else": { mcpServers } } }),
  });
  const { folder, env, path, ptc, write } = project;
  const images = new Map([
    ["ptc-runner:latest", 2048],
    ["ptc-base:debian", 1024],
  ]);
  // What is removed here is of this home, and never what the machine has.
  const machine: Machine = {
    runFolders: [path("~/run")],
    images: async () => ({
      snapshots: path("~/snapshots"),
      listOwn: async () => [...images].map(([reference, bytes]) => ({ reference, bytes })),
      async remove(reference) {
        if (reference === "ptc-base:debian" && images.has("ptc-runner:latest")) throw new Error("it is used");
        images.delete(reference);
      },
    }),
    stopHost: async () => {},
  };
  const remove = async (flags: Parameters<typeof uninstall>[0], terminal: Partial<Surroundings> = {}) => {
    const own = surroundingsIn(folder);
    const code = await uninstall(flags, { ...own, env, ...terminal }, machine).catch(
      (error: Error) => error.message,
    );
    return { code, stdout: own.stdout.text, stderr: own.stderr.text };
  };
  /** Begins at a terminal, and resolves when it asks. */
  const ask = async () => {
    const terminal = new FakeTerminal(200);
    const { stdin, stderr } = terminal;
    const uninstalling = remove({}, { stdin, stderr });
    await terminal.shows(/Remove these\? \[y\/N\]: $/);
    return { terminal, uninstalling };
  };
  expect((await ptc("init", "--import", path(".mcp.json"), "--take-over")).code).toBe(0);
  expect((await ptc("install", "cursor", "--scope", "user", "--yes")).code).toBe(0);
  write(`${STATE}/secrets.json`, '{"version":1,"values":{"secret/x":"v"}}\n');
  write("~/run/keep", "");
  write("~/snapshots/key/pages.img", "memory");
  write("~/.cache/ptc/compiled/v24/code", "compiled");
  write("~/.cache/ptc/pyodide/key.bin", "memory");
  write(".ptc/archive.db", "runs");
  write("programs/a.ts", "1");
  write("generated/servers/a/index.ts", "1");
  return { ...project, images, machine, remove, ask };
}

/** The name that a process of this machine has in the folder of what runs. */
const parentProcess = () =>
  formatIdentity({ ...currentProcess(), pid: process.ppid, startTime: startTimeOf(process.ppid) ?? "" });

describe("ptc uninstall", () => {
  it("says what it would remove, with sizes, and removes nothing where nobody can be asked", async () => {
    const { has, images, remove } = await newProject();
    const { code, stdout } = await remove({});
    expect(code).toBe("nothing was removed, as nobody can be asked here; --yes removes it");
    expect(images.size).toBe(2);
    expect(stdout).toMatch(/^image +2\.0 kB +the image ptc-runner:latest$/m);
    expect(stdout).toContain("'files' put back into");
    expect(stdout).toMatch(/^state +[\d.]+ k?B +.*\.local\/state\/ptc$/m);
    expect(stdout).toMatch(/^state +6 B +.*snapshots$/m);
    expect(stdout).toMatch(/^state +8 B +.*compiled$/m);
    expect(stdout).toMatch(/^What stays: ptc\.yaml, programs\/ and generated\/, \.ptc\//m);
    const state = { kind: "state", what: expect.stringMatching(/state\/ptc$/), bytes: expect.any(Number) };
    expect(JSON.parse((await remove({ json: true })).stdout)).toMatchObject({
      removed: false,
      parts: expect.arrayContaining([state]),
    });
    for (const file of [`${STATE}/secrets.json`, CURSOR, ".ptc/archive.db"]) expect(has(file)).toBe(true);
  });

  it("removes what is ptc's with --yes, puts clients back as they were, and leaves what is the user's", async () => {
    const { has, read, images, remove } = await newProject();
    const { code, stdout, stderr } = await remove({ yes: true });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(images.size).toBe(0);
    expect(stdout).toMatch(/ {2}npm uninstall --global ptc\n$/);
    for (const file of [
      "~/run",
      "~/snapshots",
      "~/.cache/ptc/compiled",
      "~/.cache/ptc/pyodide",
      STATE,
      CURSOR,
    ])
      expect(has(file)).toBe(false);
    expect(read(".mcp.json")).toBe(BEFORE);
    // That entry starts ptc too, in another folder.
    expect(JSON.parse(read("~/.claude.json"))).toEqual({
      projects: { "/else": { mcpServers: { a: { command: "a" } } } },
    });
    for (const file of ["ptc.yaml", ".ptc/archive.db", "programs/a.ts", "generated/servers/a/index.ts"])
      expect(has(file)).toBe(true);
  });

  it("removes the runs of the folder with --archive only", async () => {
    const { has, remove } = await newProject();
    const { stdout } = await remove({ archive: true, yes: true });
    expect(stdout).toMatch(/^archive +4 B +.*\.ptc$/m);
    expect([has(".ptc"), has("ptc.yaml")]).toEqual([false, true]);
  });

  it.each([
    ["y\r", 0],
    ["\r", 1],
    ["\u0003", 1],
  ])("asks on a terminal, and takes %j as it is meant", async (typed, code) => {
    const { has, ask } = await newProject();
    const { terminal, uninstalling } = await ask();
    terminal.type(typed);
    expect((await uninstalling).code).toBe(code);
    expect(has(STATE)).toBe(code !== 0);
  });

  it("keeps what could not be undone, says so, and goes on with the rest", async () => {
    const { has, write, remove } = await newProject();
    write(".mcp.json", '{"mcpServers":{"files":{"command":"other"}}}');
    const { code, stderr } = await remove({ yes: true });
    expect(code).toBe(1);
    expect(stderr).toMatch(/'files' is there again meanwhile/);
    expect(stderr).toMatch(/client-changes still says what was changed/);
    expect([`${STATE}/secrets.json`, `${STATE}/client-changes`, CURSOR].map(has)).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("follows no link out of ptc's folders", async () => {
    const { path, read, write, remove } = await newProject();
    write("~/outside/mine", "mine");
    symlinkSync(path("~/outside"), path(`${STATE}/link`));
    expect((await remove({ yes: true })).code).toBe(0);
    expect(read("~/outside/mine")).toBe("mine");
  });

  it("changes no file to which a link leads out of the folder, nor an entry of another server that ptc is an argument of", async () => {
    const { path, read, write, remove } = await newProject();
    const files = {
      "~/theirs.json": JSON.stringify({ mcpServers: { a: { command: "ptc", args: ["serve"] } } }),
      ".vscode/mcp.json": JSON.stringify({
        mcpServers: { b: { command: "files", args: ["serve", "/src/ptc"] } },
      }),
    };
    for (const [file, text] of Object.entries(files)) write(file, text);
    mkdirSync(path(".cursor"));
    symlinkSync(path("~/theirs.json"), path(".cursor/mcp.json"));
    expect((await remove({ yes: true })).code).toBe(0);
    for (const [file, text] of Object.entries(files)) expect(read(file)).toBe(text);
  });

  it("leaves the folder of a process that started while the question was open", async () => {
    const { has, path, ask } = await newProject();
    const { terminal, uninstalling } = await ask();
    mkdirSync(path(`~/run/${parentProcess()}`));
    terminal.type("y\r");
    expect((await uninstalling).code).toBe(1);
    expect([has("~/run"), has(STATE)]).toEqual([true, false]);
  });

  it.skipIf(process.getuid?.() !== 0)("leaves state of another user, and says so", async () => {
    const { has, path, remove } = await newProject();
    chownSync(path(STATE), 65_534, 65_534);
    const { stderr } = await remove({ yes: true });
    expect(stderr).toContain(`${path(STATE)} belongs to another user, and stays`);
    expect(has(STATE)).toBe(true);
  });

  it("removes what the system's keyring has of ptc, and nothing else in it", async () => {
    const { env, machine, remove } = await newProject();
    const { load, values } = memoryPackage(() => undefined);
    env.PTC_KEYRING = undefined;
    machine.loadKeyring = load;
    for (const key of ["ptc/secret/a", "ptc/login/b", "other/secret/a"]) values.set(key, "s3cret");
    const { stdout } = await remove({});
    expect(stdout).toMatch(/^keyring +login\/b in the system's keyring \(.+\)$/m);
    expect(stdout).toMatch(/^keyring +secret\/a in the system's keyring \(.+\)$/m);
    expect(stdout).not.toContain("s3cret");
    expect(values.size).toBe(3);
    env.PTC_KEYRING = "off";
    expect((await remove({})).stdout).not.toContain("keyring");
    env.PTC_KEYRING = undefined;
    expect((await remove({ yes: true })).code).toBe(0);
    expect([...values.keys()]).toEqual(["other/secret/a"]);
  });

  it("says which secrets of the system's keyring stay where it is locked meanwhile, and that it cannot be read", async () => {
    const { env, has, machine, remove } = await newProject();
    let error: Error | undefined;
    const { load, values } = memoryPackage(() => error);
    env.PTC_KEYRING = undefined;
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
    expect(has(STATE)).toBe(false);
    error = undefined;
    const findCredentialsAsync = () => Promise.reject(new Error("locked: s3cret"));
    machine.loadKeyring = async () => ({ ...(await load()), findCredentialsAsync });
    expect((await remove({})).stderr).toBe(
      "ptc: warning: secrets in the keyring are not looked for: the system's keyring cannot be read; unlock it\n",
    );
    expect(values.size).toBe(1);
  });

  it("ends a background host before it removes its folder, and leaves both where the host goes on", async () => {
    const { path, machine, remove } = await newProject();
    chmodSync(path("~/run"), 0o700);
    const args = [join(import.meta.dirname, "processes/host-process.ts"), path("~/run/hosts/a")];
    const host = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
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
    const stays = `ptc: ${path("~/run")} stays: a background host still runs; uninstall again when it has ended`;
    expect(kept).toMatchObject({ code: 1, stderr: `ptc: ${part} stays: it hears nothing\n${stays}\n` });
    expect(host.exitCode).toBe(null);

    machine.stopHost = stopHostAt;
    expect(await remove({ yes: true })).toMatchObject({ code: 0, stderr: "" });
    expect(await ended).toEqual([0, null]);
    expect(existsSync(path("~/run"))).toBe(false);
  });

  it("leaves the folder of processes that run, and what cannot be looked for, and says so", async () => {
    const { has, path, machine, remove } = await newProject();
    mkdirSync(path(`~/run/${parentProcess()}`));
    machine.images = async () => {
      throw new Error("no engine answers");
    };
    const { stderr } = await remove({ yes: true });
    expect(stderr).toMatch(/^ptc: warning: images are not looked for: no engine answers$/m);
    expect(stderr).toMatch(/^ptc: warning: ptc still runs \(process \d+\)/m);
    expect([has("~/run"), has(STATE)]).toEqual([true, false]);
  });
});
