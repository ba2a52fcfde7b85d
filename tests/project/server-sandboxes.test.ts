import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseConfiguration } from "../../configuration/parse.ts";
import { Project } from "../../project/open-project.ts";
import { composeUpstreams } from "../../project/servers/upstreams.ts";
import type { SandboxEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxError } from "../../sandbox/sandbox-error.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { upstreamErrorOf } from "../upstream/upstream-fixtures.ts";

const PROBE = join(import.meta.dirname, "../fixtures/servers/hostile-probe.mjs");

/** Servers under an engine that has what is given, and nothing else. */
function setUp(mode: string, engine: Partial<SandboxEngine>, sandbox?: object) {
  const directory = mkdtempSync("/tmp/ptc-walled-");
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const servers = ["one", "two"].map((name) => ({ name, command: process.execPath, args: [PROBE], sandbox }));
  const warnings: string[] = [];
  const configuration = parseConfiguration(JSON.stringify({ sandbox: { servers: mode }, servers }), {
    ...{ file: "ptc.yaml", directory, environment: {} },
  });
  const project = new Project(configuration, {
    env: { PATH: process.env.PATH, HOME: directory, PTC_KEYRING: "off" },
    onWarning: (warning) => warnings.push(warning),
  });
  onTestFinished(() => project.close());
  const { pool } = composeUpstreams(project, { engine: () => engine as SandboxEngine });
  const listOf = (name: string) => (pool.get("local", name) as Upstream).list();
  return { listOf, warnings, directory };
}

const lost = {
  name: "Docker",
  hasServers: true,
  describe: async () => {
    throw new SandboxError("engine_unreachable", "there is no Docker here");
  },
  findImage: async () => {
    throw new SandboxError("engine_unreachable", "there is no Docker here");
  },
};

test("where sandboxes are wanted and no engine is, servers run as processes of this machine, which is said once", async () => {
  const { listOf, warnings } = setUp("wanted", lost);
  expect((await listOf("one")).tools).toHaveLength(1);
  expect((await listOf("two")).tools).toHaveLength(1);
  expect(warnings).toEqual([
    "servers run without a sandbox, because none can be started here: there is no Docker here; with `sandbox.servers: required` they would not run",
  ]);
});

test.each(["required", "off"])(
  "where the setting is %s and no engine is, a server that needs a sandbox does not run",
  async (mode) => {
    const { listOf, warnings } = setUp(mode, lost, mode === "off" ? { memory_mb: 100 } : undefined);
    expect((await upstreamErrorOf(listOf("one"))).message).toBe(
      "server 'one' did not start: there is no Docker here",
    );
    expect(warnings).toEqual([]);
  },
);

test("an engine that has no sandboxes for servers refuses them in one line", async () => {
  const { listOf } = setUp("required", { name: "Kubernetes" });
  expect((await upstreamErrorOf(listOf("one"))).message).toBe(
    "server 'one' did not start: the engine Kubernetes has no sandboxes for servers; use docker or runsc in sandbox.engine",
  );
});

test.each([
  [{ files: [{ path: "./missing" }] }, /did not start: files: .*\/missing is not there$/],
  [{ files: [{ path: "/etc" }] }, /^server 'one' did not start: there is no Docker here$/],
])("what an entry mounts is looked at before anything is started: %j", async (sandbox, message) => {
  const { listOf } = setUp("off", lost, sandbox);
  expect((await upstreamErrorOf(listOf("one"))).message).toMatch(message);
});
