import { execFile } from "node:child_process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { isInherited } from "../../../secrets/inherited-environment.ts";
import type { McpServerTarget } from "../../../upstream/mcp/mcp-server-target.ts";
import { MessageGate } from "../../../upstream/mcp/message-gate.ts";
import { StdioClientTransport } from "../../../upstream/mcp/stdio-transport.ts";
import type { UpstreamConnection } from "../../../upstream/upstream.ts";
import { eventually } from "../../eventually.ts";
import { connect, fixture, isAlive, jsonOf, toolCall, upstreamErrorOf } from "../upstream-fixtures.ts";

describe("a server on stdio", () => {
  it.each([
    ["echo-v1.mjs", "2025-11-25", { name: "echo-v1", version: "1.2.3" }],
    ["echo-v2.mjs", "2026-07-28", { name: "echo-v2", version: "4.5.6" }],
  ])("is spoken to in its own era: %s", async (file, protocolVersion, implementation) => {
    const connection = await connect(fixture(file));
    const listing = await connection.list();
    expect(listing).toMatchObject({ protocolVersion, implementation });
    const tools = listing.tools as { name: string }[];
    expect(tools.map(({ name }) => name)).toEqual(["echo", "grow"]);
    const result = await connection.callTool(toolCall("echo", { text: "héllo" }));
    expect(result).toMatchObject({ content: [{ type: "text", text: "héllo" }] });
  });

  it.each(["echo-v1.mjs", "echo-v2.mjs"])("tells when its tools have changed: %s", async (file) => {
    const connection = await connect(fixture(file));
    const changed = vi.fn();
    connection.onToolsChanged(changed);
    await eventually(async () => {
      await connection.callTool(toolCall("grow")).catch(() => {});
      expect(changed).toHaveBeenCalled();
    });
    expect((await connection.list()).tools).toHaveLength(3);
  });

  it.each(["exits-on-probe.mjs", "silent-on-probe.mjs"])(
    "may be too old for the question: %s",
    async (file) => {
      const connection = await connect(fixture(file), { connectTimeoutMs: 3_000 });
      expect((await connection.list()).protocolVersion).toBe("2025-11-25");
      expect((await connection.list()).tools).toHaveLength(1);
    },
  );

  it("may write other things to its output", async () => {
    const connection = await connect(fixture("chatty.mjs"));
    expect(await connection.callTool(toolCall("go"))).toEqual({ content: [] });
  });

  const telling = (made: object) => {
    const target = fixture("tells-client.mjs");
    return { ...target, args: [...target.args, JSON.stringify(made)] };
  };
  const toldBy = async (connection: UpstreamConnection) =>
    jsonOf(await connection.callTool(toolCall("go"))) as { capabilities: object; listens: unknown[] };

  it("is told who its client is and what that can do, and of folders where there are some", async () => {
    const can = {
      elicitation: { form: {}, url: {} },
      extensions: { "io.modelcontextprotocol/tasks": {}, "io.modelcontextprotocol/skills": {} },
    };
    const plain = await toldBy(await connect(telling({}), { clientVersion: "1.2.3" }));
    expect(plain).toMatchObject({ clientInfo: { name: "ptc", version: "1.2.3" } });
    expect(plain.capabilities).toEqual(can);
    const rooted = await toldBy(await connect(telling({}), { roots: ["/a"] }));
    expect(rooted.capabilities).toEqual({ ...can, roots: {} });
  });

  it("is named by the beginning of what it calls itself", async () => {
    const { implementation } = await (await connect(telling({}))).list();
    expect(implementation.name).toMatch(/^n+$/);
    expect(implementation.name.length).toBeLessThan(300);
    expect(implementation.version.length).toBe(implementation.name.length);
  });

  it.each([
    [0, 0],
    [5, 5],
    [-1, undefined],
    ["5", undefined],
    [null, undefined],
    [undefined, undefined],
  ])("may say for how long its list holds: %j, %j", async (ttlMs, holdsMs) => {
    expect((await (await connect(telling({ ttlMs }))).list()).ttlMs).toBe(holdsMs);
  });

  it.each([
    [{ tools: { listChanged: true } }, [{ toolsListChanged: true }]],
    [{ tools: {}, resources: { listChanged: true }, prompts: {} }, [{ resourcesListChanged: true }]],
    [{ tools: { listChanged: false }, prompts: { listChanged: true } }, [{ promptsListChanged: true }]],
    [{ tools: {} }, []],
  ])("is asked to tell of the changes that it announces, once: %j", async (capabilities, listens) => {
    const connection = await connect(telling({ modern: true, capabilities }));
    for (let i = 0; i < 2; i++) connection.onToolsChanged(() => {});
    await eventually(async () => expect((await toldBy(connection)).listens).toEqual(listens));
  });

  it.each([undefined, '{"jsonrpc":"2.0","method":"notifications/message"}', "starting up..."])(
    "has started once it says anything, be it %j, and not by empty lines",
    async (says) => {
      const started: number[] = [];
      const options = { onStarted: (pid: number) => void started.push(pid) };
      await connect(telling({ says }), options);
      expect(started).toEqual([expect.any(Number)]);
      const code = "process.stdout.write(' \\n\\n'); process.stdin.resume()";
      const silent = { ...fixture(""), args: ["-e", code] };
      await upstreamErrorOf(connect(silent, { ...options, connectTimeoutMs: 500 }));
      expect(started).toHaveLength(1);
    },
  );

  it("gets few variables beside its own, and its folder", async () => {
    vi.stubEnv("PTC_TEST_SECRET", "must not be passed on");
    const connection = await connect(fixture("env-dump.mjs", { env: { OWN: "o", HOME: "/elsewhere" } }));
    const { env, cwd } = jsonOf(await connection.callTool(toolCall("go"))) as {
      env: Record<string, string>;
      cwd: string;
    };
    vi.unstubAllEnvs();
    expect(env).toMatchObject({ OWN: "o", HOME: "/elsewhere", PATH: process.env.PATH });
    // macOS adds one of its own to every process.
    const others = Object.keys(env).filter((name) => !isInherited(name) && !name.startsWith("__CF"));
    expect(others).toEqual(["OWN"]);
    expect(`${cwd}/`).toBe(fixture("").cwd);
  });

  it("gets what says how it leaves this machine and where packages come from, and nothing of publishing or of npm itself", async () => {
    const proxies = { HTTPS_PROXY: "http://u:p@proxy:1", http_proxy: "http://proxy:1", no_proxy: "hub" };
    const authorities = { NODE_EXTRA_CA_CERTS: "/ca.pem", SSL_CERT_FILE: "/ca.pem", SSL_CERT_DIR: "/ca" };
    const given = {
      ...{ ...proxies, ALL_PROXY: "http://proxy:2", ...authorities, REQUESTS_CA_BUNDLE: "/ca.pem" },
      ...{ npm_config_registry: "http://registry", UV_INDEX_URL: "http://i", PIP_INDEX_URL: "http://i" },
    };
    const kept = {
      ...{ UV_PUBLISH_TOKEN: "t", npm_config_user_agent: "npm/1", npm_config_local_prefix: "/here" },
      AWS_PROFILE: "p",
    };
    for (const [name, value] of Object.entries({ ...given, ...kept })) vi.stubEnv(name, value);
    const connection = await connect(fixture("env-dump.mjs"));
    const { env } = jsonOf(await connection.callTool(toolCall("go"))) as { env: object };
    vi.unstubAllEnvs();
    expect(env).toMatchObject(given);
    expect(Object.keys(env).filter((name) => name in kept)).toEqual([]);
  });

  it("is started without a shell", async () => {
    const target = fixture("env-dump.mjs");
    const connection = await connect({ ...target, args: [...target.args, "$HOME; echo `x` > y"] });
    const value = jsonOf(await connection.callTool(toolCall("go")));
    expect(value).toMatchObject({ argv: ["$HOME; echo `x` > y"] });
  });
});

describe("the tools of a server", () => {
  it("are those of all pages", async () => {
    const connection = await connect(fixture("lists-in-pages.mjs"));
    const tools = (await connection.list()).tools as { name: string }[];
    expect(tools.map(({ name }) => name)).toEqual([0, 1, 2, 3, 4, 5].map((index) => `tool_${index}`));
  });

  it.each([
    ["2025-11-25", []],
    ["2026-07-28", ["--modern"]],
  ])("are listed as they are, however odd, in %s", async (protocolVersion, flags) => {
    const target = fixture("odd-tools.mjs");
    const connection = await connect({ ...target, args: [...target.args, ...flags] });
    expect((await connection.list()).protocolVersion).toBe(protocolVersion);
    expect((await connection.list()).tools).toEqual([
      { name: "fine", inputSchema: { type: "object" } },
      { name: "no_type", inputSchema: { properties: {} } },
      { name: "no_schema" },
      { name: 7, inputSchema: "odd", extra: { kept: true } },
      "not even an object",
    ]);
  });

  it("are listed within five minutes, however many pages they have", async () => {
    const connection = await connect(fixture("lists-in-pages.mjs"));
    const now = performance.now.bind(performance);
    let asked = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now() + 150_000 * asked++);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await upstreamErrorOf(connection.list())).toMatchObject({
      code: "protocol_error",
      message: "server 'x' took 300 s to list its tools",
    });
    vi.restoreAllMocks();
    expect((await connection.list()).tools).toHaveLength(6);
  });

  it("cannot be listed in a circle", async () => {
    const connection = await connect(fixture("repeats-cursor.mjs"));
    expect(await upstreamErrorOf(connection.list())).toMatchObject({
      code: "protocol_error",
      message: "server 'x' sent the same cursor twice in tools/list, which would never end",
    });
  });
});

describe("a server that cannot be used", () => {
  const SECRET = "s3cr3t-key";

  const START = "^server 'x' did not start";
  const unusable: [what: string, target: McpServerTarget, code: string, message: string][] = [
    [
      "is not there",
      fixture("", { command: "no-such-program" }),
      "start_failed",
      `${START}: spawn no-such-program ENOENT; check its command and its cwd in the configuration$`,
    ],
    [
      "has its arguments in its command",
      fixture("", { command: "node server.js --stdio" }),
      "start_failed",
      `${START}: spawn node server\\.js --stdio ENOENT; command is one word, .*args: \\["server\\.js", "--stdio"\\]\\)$`,
    ],
    [
      "is named with ~",
      fixture("", { command: "~/bin/x" }),
      "start_failed",
      `${START}: spawn ~/bin/x ENOENT; no shell reads the command, so write the whole path in place of ~, or \\$\\{HOME\\}$`,
    ],
    [
      "exits because an argument has ~",
      fixture("", { args: ["-e", "process.exit(2)", "--", "--db=~/notes.db"] }),
      "start_failed",
      `${START}: it exited with code 2; no shell reads its argument --db=~/notes\\.db, so write \\$\\{HOME\\} in place of ~$`,
    ],
    [
      "exits because a variable has ~",
      fixture("", { args: ["-e", "process.exit(2)"], env: { NOTES: "~/notes" } }),
      "start_failed",
      `${START}: it exited with code 2; no shell reads its variable NOTES, so write \\$\\{HOME\\} in place of ~$`,
    ],
    [
      "is no program",
      fixture("", { command: fixture("garbage.mjs").args[0] ?? "" }),
      "start_failed",
      `${START}: spawn \\S+garbage\\.mjs EACCES; check its command in the configuration$`,
    ],
    [
      "exits at once",
      fixture("exits-at-once.mjs", { env: { API_KEY: SECRET } }),
      "start_failed",
      `${START}: it exited with code 3: Error: API_KEY \\[redacted\\] is not valid; run its command by hand to see why$`,
    ],
    [
      "says several things before it ends",
      fixture("", {
        args: ["-e", "console.error('first\\nsecond\\n \\nthird\\nfourth'); process.exit(2)"],
      }),
      "start_failed",
      `${START}: it exited with code 2: second \\| third \\| fourth; run its command by hand to see why$`,
    ],
    [
      "says much before it ends",
      fixture("", {
        args: ["-e", "console.error(`first\\nsecond\\n${'x'.repeat(400)}\\nthe end`); process.exit(2)"],
      }),
      "start_failed",
      `${START}: it exited with code 2: x{290} \\| the end; run its command by hand to see why$`,
    ],
    [
      "is killed",
      fixture("", { args: ["-e", "process.kill(process.pid, 'SIGKILL')"] }),
      "start_failed",
      `${START}: it was killed by SIGKILL; run its command by hand to see why$`,
    ],
    [
      "ends with a stack trace",
      fixture("", { args: ["-e", "throw new Error('no database')"] }),
      "start_failed",
      "Error: no database; run its command by hand to see why$",
    ],
    [
      "answers with an error that has no form",
      fixture("", {
        args: [
          "-e",
          `process.stdin.on("data", (text) => {
            for (const line of String(text).trim().split("\\n"))
              console.log(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(line).id, error: "no" }));
          });`,
        ],
      }),
      "handshake_failed",
      `^server 'x' did not complete the MCP handshake: the answer is not usable \\(malformed_error\\); is it an MCP server\\?$`,
    ],
    [
      "answers with nothing of use",
      fixture("refuses-initialize.mjs"),
      "handshake_failed",
      "^server 'x' did not complete the MCP handshake: .*; is it an MCP server\\?$",
    ],
  ];

  it.each(unusable)("says in one line that it %s", async (_, target, code, message) => {
    const error = await upstreamErrorOf(connect(target));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(new RegExp(message));
    expect(error.message).not.toMatch(/\p{Cc}/u);
    expect(error.message).not.toContain(SECRET);
    expect(error.retryable).toBe(false);
  });

  it.each([
    ["never answers", "never-answers.mjs", ": waiting for something else"],
    [
      "writes only garbage",
      "garbage.mjs",
      "; its output begins with something that is no message: Listening on port 3000",
    ],
  ])("is given up and ended when it %s", async (_, file, why) => {
    const message = `server 'x' did not complete the MCP handshake within 1 s${why}; is it an MCP server? connect_timeout_seconds of the server gives it longer`;
    const pids: number[] = [];
    const options = { connectTimeoutMs: 1_000, onSpawn: (pid: number) => pids.push(pid) };
    const error = await upstreamErrorOf(connect(fixture(file), options));
    expect(error).toMatchObject({ code: "connect_timeout", message, retryable: true });
    expect(pids).toHaveLength(1);
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("is ended when its start is cancelled", async () => {
    const controller = new AbortController();
    const pids: number[] = [];
    const onSpawn = (pid: number) => {
      pids.push(pid);
      controller.abort();
    };
    const { signal } = controller;
    const error = await upstreamErrorOf(connect(fixture("never-answers.mjs"), { signal, onSpawn }));
    expect(error.code).toBe("cancelled");
    expect(pids.filter(isAlive)).toEqual([]);
  });
});

describe("a server that prints what is no message", () => {
  const BANNER = "npm notice New version of npm available!";
  const echo = pathToFileURL(fixture("echo-v1.mjs").args[0] ?? "").href;

  it.each([
    ["before its messages", `console.log(${JSON.stringify(BANNER)}, "\\nSecond line"); import("${echo}")`],
    [
      "between its messages",
      `import("${echo}").then(() => process.stdin.on("data", () => console.log(${JSON.stringify(BANNER)})))`,
    ],
  ])("is used, and one warning quotes the first line: %s", async (_, code) => {
    const warnings: string[] = [];
    const connection = await connect(fixture("", { args: ["-e", code] }), {
      onWarning: (line) => warnings.push(line),
    });
    const result = await connection.callTool(toolCall("echo", { text: "hello" }));
    expect(result).toMatchObject({ content: [{ text: "hello" }] });
    await connection.callTool(toolCall("echo", { text: "again" }));
    expect(warnings).toEqual([
      `server 'x' prints on its standard output what is no message (such lines are skipped; logs belong on its stderr): ${BANNER}`,
    ]);
  });

  it("is not warned about where its failure says so", async () => {
    const warnings: string[] = [];
    const options = { connectTimeoutMs: 1_000, onWarning: (line: string) => warnings.push(line) };
    await upstreamErrorOf(connect(fixture("garbage.mjs"), options));
    expect(warnings).toEqual([]);
  });
});

describe("the processes of a server", () => {
  it.each(["stubborn.mjs", "leaves-child.mjs"])("are all gone after close: %s", async (file) => {
    const groups: [string, number][] = [];
    const connection = await connect(fixture(file), {
      onSpawn: (pid) => groups.push(["spawned", pid]),
      onExit: (pid) => groups.push(["exited", pid]),
    });
    const lost = vi.fn();
    connection.onLost(lost);
    const pids = jsonOf(await connection.callTool(toolCall("go"))) as number[];
    expect(pids.map(isAlive)).toEqual([true, true]);
    await connection.close();
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
    expect(groups).toEqual([
      ["spawned", pids[0]],
      ["exited", pids[0]],
    ]);
    expect(lost).not.toHaveBeenCalled();
  });

  it.each([true, false])(
    "end without harm where what notes their end fails, with somebody to tell: %s",
    async (hasListener) => {
      const gate = new MessageGate();
      const transport = new StdioClientTransport({
        ...{ command: process.execPath, args: ["-e", "process.stdin.resume()"], env: {}, cwd: "/" },
        ...{ maxMessageBytes: 1_000, admit: (text) => gate.admit(text), onOversize() {} },
        onExit() {
          throw new Error("the disk is full");
        },
      });
      const told: string[] = [];
      if (hasListener) transport.onerror = ({ message }) => void told.push(message);
      const closed = new Promise<void>((resolve) => {
        transport.onclose = resolve;
      });
      await transport.start();
      await transport.close();
      await closed;
      expect(told).toEqual(hasListener ? ["the disk is full"] : []);
    },
  );

  it("end also where nobody waits for them any more while they are being started", async () => {
    const gate = new MessageGate();
    const spawned: number[] = [];
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, args: ["-e", "process.stdin.resume()"], env: {}, cwd: "/" },
      ...{ maxMessageBytes: 1_000, admit: (text) => gate.admit(text), onOversize() {} },
      onSpawn: (pid) => void spawned.push(pid),
    });
    const starting = transport.start();
    await transport.close();
    await starting;
    expect(spawned.map(isAlive)).toEqual([false]);
  });

  it("are all gone after ptc exits without closing", async () => {
    const { command, args } = fixture("../hosts/exits-with-server.ts");
    const { stdout } = await promisify(execFile)(command, args);
    const pids = JSON.parse(stdout) as number[];
    expect(pids).toHaveLength(2);
    await eventually(() => expect(pids.map(isAlive)).toEqual([false, false]));
  });
});
