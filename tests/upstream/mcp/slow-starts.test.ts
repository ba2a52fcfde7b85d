import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { finishWithoutUs, ProcessGroups } from "../../../system/process-group.ts";
import { StartTime, whySlow } from "../../../upstream/mcp/start-time.ts";
import { notReadyInTime } from "../../../upstream/tool-servers.ts";
import { eventually } from "../../eventually.ts";
import { connect, fixture, isAlive, upstreamErrorOf } from "../upstream-fixtures.ts";

/** A server that installs itself in a folder of its own, and goes on with that until `finish` is called. */
function installer(sign: "stderr" | "processor" | "nothing") {
  const folder = mkdtempSync(join(tmpdir(), "ptc-installer-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { args, ...target } = fixture("installs-itself.mjs");
  const path = (name: string) => join(folder, name);
  return {
    target: { ...target, args: [...args, folder, sign] },
    hasBegun: () => eventually(() => expect(existsSync(path("begun"))).toBe(true)),
    complete: () => existsSync(path("complete")),
    pid: () => Number(readFileSync(path("begun"), "utf8")),
    finish: () => writeFileSync(path("enough"), ""),
    async completesAndEnds() {
      this.finish();
      await eventually(() => expect(this.complete()).toBe(true));
      await eventually(() => expect(isAlive(this.pid()), stateOf(this.pid())).toBe(false));
    },
  };
}

/** What a process does, for a failure that is seen once in many runs. */
function stateOf(pid: number): string {
  const read = (name: string) => {
    try {
      return readFileSync(`/proc/${pid}/${name}`, "utf8").trim();
    } catch {
      return "unknown";
    }
  };
  return `${read("stat")}, in ${read("wchan")}`;
}

describe("a server that installs itself when it is first started", () => {
  it("is waited for as long as its stderr or its use of the processor shows that something goes on", async () => {
    const shown = [installer("stderr"), installer("processor")];
    const connecting = shown.map(({ target }) => connect(target, { connectTimeoutMs: 3_000 }));
    await Promise.all(shown.map(({ hasBegun }) => hasBegun()));
    await delay(5_000);
    for (const { finish } of shown) finish();
    for (const connection of await Promise.all(connecting))
      expect((await connection.list()).protocolVersion).toBe("2025-11-25");
  });

  it("is said to be slow when it takes long", async () => {
    const { target, hasBegun, finish } = installer("stderr");
    const slow: string[] = [];
    const onWarning = (line: string) => void slow.push(line);
    const connecting = connect(target, { connectTimeoutMs: 60_000, onWarning });
    await hasBegun();
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + 5_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await eventually(() =>
      expect(slow).toEqual([expect.stringMatching(/^server 'x' is still starting after \d+ s$/)]),
    );
    finish();
    await connecting;
  });

  it("is given up where it shows nothing for long, with what it has spent its time on", async () => {
    const { target, finish } = installer("nothing");
    const error = await upstreamErrorOf(connect(target, { connectTimeoutMs: 1_000 }));
    finish();
    expect(error).toMatchObject({
      code: "connect_timeout",
      message: expect.stringMatching(
        /did not complete the MCP handshake within \d+ s; is it an MCP server\?/,
      ),
    });
  });

  it("finishes its installation after its start is cancelled, and ends then", async () => {
    const installing = installer("stderr");
    const controller = new AbortController();
    const connecting = upstreamErrorOf(connect(installing.target, { signal: controller.signal }));
    await installing.hasBegun();
    controller.abort();
    expect((await connecting).code).toBe("cancelled");
    expect(installing.complete()).toBe(false);
    await installing.completesAndEnds();
    expect(await (await connect(installing.target)).list()).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  it("finishes its installation where ptc ends meanwhile, also what it writes then", async () => {
    const installing = installer("stderr");
    const module = join(import.meta.dirname, "../../../upstream/mcp/connect-mcp-server.ts");
    const code = `
      const { connectMcpServer } = await import(${JSON.stringify(module)});
      connectMcpServer(${JSON.stringify(installing.target)}, { clientVersion: "0" }).catch(() => {});
      process.stdin.once("data", () => process.exit(0));`;
    const ptc = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["pipe", "ignore", "inherit"],
    });
    await installing.hasBegun();
    ptc.stdin.write("end\n");
    await once(ptc, "exit");
    expect(installing.complete()).toBe(false);
    await installing.completesAndEnds();
  });

  it("is not killed by the ptc after one that was, unlike a server that had started", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ptc-groups-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "groups"));
    const groups = new ProcessGroups(join(folder, "groups"));
    const starts = async (isStarting: boolean) => {
      const installing = installer("processor");
      const { command, args } = installing.target;
      const child = spawn(command, args, { detached: true, stdio: "ignore" });
      groups.record(child.pid ?? 0, isStarting);
      await installing.hasBegun();
      return installing;
    };
    const [starting, started] = await Promise.all([starts(true), starts(false)]);
    groups.kill((pid) => finishWithoutUs(pid));
    await starting.completesAndEnds();
    expect([started.complete(), isAlive(started.pid())]).toEqual([false, false]);
  });
});

describe("the time that a server has to start", () => {
  it.each([
    ["nothing", () => false, ["half at 4", "slow at 5", "over at 8: 0 + 8000"]],
    ["much at once", (s: number) => s <= 20, ["slow at 5", "half at 24", "over at 28: 20000 + 8000"]],
    [
      "something now and then",
      (s: number) => s % 6 === 0,
      ["half at 4", "slow at 5", "over at 300: 300000 + 0"],
    ],
  ])("is spent where it does %s", async (_, isAtWork, expected) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const began = performance.now();
    const now = () => (performance.now() - began) / 1_000;
    const seen: string[] = [];
    const time = new StartTime({
      quietMs: 8_000,
      isAtWork: async () => isAtWork(now()),
      onHalf: () => seen.push(`half at ${now()}`),
      onSlow: (seconds) => seen.push(`slow at ${seconds}`),
      onOver: ({ workedMs, quietMs }) => seen.push(`over at ${now()}: ${workedMs} + ${quietMs}`),
    });
    await vi.advanceTimersByTimeAsync(3_000);
    expect(seen).toEqual([]);
    await vi.advanceTimersByTimeAsync(400_000);
    time.end();
    expect(seen).toEqual(expected);
  });
});

const INSTALLERS = [
  "npx",
  "npm",
  "pnpm",
  "pnpx",
  "yarn",
  "bunx",
  "bun",
  "deno",
  "uvx",
  "uv",
  "pipx",
  "docker",
  "podman",
];

it.each<[command: string, why: string | undefined]>([
  ...INSTALLERS.map((name): [string, string] => [name, `${name} may be downloading it`]),
  ["/usr/local/bin/uvx", "uvx may be downloading it"],
  ["npx.cmd", "npx may be downloading it"],
  ["/x/docker.EXE", "docker may be downloading it"],
  ["node", undefined],
  ["npx.cmd.sh", undefined],
  ["npxcmd", undefined],
  ["", undefined],
])("the start of %s is explained", (command, why) => {
  expect(whySlow(command)).toBe(why);
  expect(notReadyInTime("x", 1_000, false, why).message).toContain(
    why === undefined ? "it goes on with that, so" : `it goes on with that (${why}), so`,
  );
});

/** A command named npx that starts a server, unless its packages are to come from the cache and `isCached` is not set. */
function fakeNpx(isCached: boolean) {
  const folder = mkdtempSync(join(tmpdir(), "ptc-npx-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { args, ...target } = fixture("echo-v1.mjs");
  const [command, log] = [join(folder, "npx"), join(folder, "log")];
  const script = [
    "#!/bin/sh",
    `echo "\${npm_config_prefer_offline:-unset}" >> "${log}"`,
    `if [ "$npm_config_prefer_offline" = true ] && [ -z "${isCached ? 1 : ""}" ]; then`,
    '  echo "npm error code ETARGET" >&2',
    '  echo "npm error notarget No matching version found for x@2." >&2',
    "  exit 1",
    "fi",
    `exec "${process.execPath}" "$@"`,
  ];
  writeFileSync(command, script.join("\n"), { mode: 0o755 });
  return {
    target: { ...target, command, args },
    starts: () => readFileSync(log, "utf8").trimEnd().split("\n"),
  };
}

describe("a server that npx starts", () => {
  it("is taken from the cache first", async () => {
    const { target, starts } = fakeNpx(true);
    await connect(target);
    expect(starts()).toEqual(["true"]);
  });

  it("is looked for in the registry when what is cached is too old", async () => {
    const { target, starts } = fakeNpx(false);
    await connect(target);
    expect(starts()).toEqual(["true", "unset"]);
  });

  it("is started as its own setting says", async () => {
    const { target, starts } = fakeNpx(false);
    await connect({ ...target, env: { npm_config_prefer_offline: "false" } });
    expect(starts()).toEqual(["false"]);
  });
});
