import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import type { Configuration } from "../../configuration/configuration.ts";
import { parseConfiguration } from "../../configuration/parse.ts";
import { Project } from "../../project/open-project.ts";
import { composeUpstreams } from "../../project/servers/upstreams.ts";
import type { ChannelPreference } from "../../sandbox/sandbox-engine.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import type { LocalEngine } from "../sandbox/tested-engine.ts";
import { toolCall } from "../upstream/upstream-fixtures.ts";

export const PROBE = "hostile-probe.mjs";
const FIXTURES = join(import.meta.dirname, "../fixtures/servers");

/**
 * A project with a probe in a sandbox.
 *
 * @param sandbox what its entry says besides the folder of the probe.
 * @param more what else the server's entry says.
 * @param channel how its messages travel; by default as suits the engine.
 */
export function setUp(
  engine: LocalEngine,
  sandbox: { files?: object[]; network?: unknown[]; memory_mb?: number } = {},
  more: object = {},
  channel: ChannelPreference = "auto",
) {
  const directory = mkdtempSync("/tmp/ptc-walled-");
  chmodSync(directory, 0o755);
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const folder of ["server", "data", "secret"]) mkdirSync(join(directory, folder));
  writeFileSync(join(directory, "server", PROBE), readFileSync(join(FIXTURES, PROBE)));
  writeFileSync(join(directory, "data/known.txt"), "known");
  writeFileSync(join(directory, "secret/key"), "secret");
  const text = JSON.stringify({
    sandbox: { engine, channel },
    servers: [
      {
        name: "probe",
        command: "node",
        args: [`./server/${PROBE}`],
        env: { OWN: "own-value", DATA: join(directory, "data/known.txt") },
        sandbox: { ...sandbox, files: [{ path: "./server" }, ...(sandbox.files ?? [])] },
        ...more,
      },
    ],
  });
  const configuration = parseConfiguration(text, { file: "ptc.yaml", directory, environment: {} });
  const warnings: string[] = [];
  const project = openProbed(configuration, (warning) => warnings.push(warning));
  const { pool } = composeUpstreams(project);
  const upstream = pool.get("local", "probe") as Upstream;
  const probe = async (code: string) => {
    const answer = await upstream.call({ ...toolCall("probe"), arguments: { code }, timeoutMs: 120_000 });
    return (answer as { structuredContent: { value?: unknown; error?: string } }).structuredContent;
  };
  /** Ends everything, and reads what the audit log has of connections. */
  const connections = async () => {
    await project.close();
    const audit = join(directory, ".ptc/audit.jsonl");
    const lines = existsSync(audit) ? readFileSync(audit, "utf8").trim().split("\n") : [];
    return lines.map((line) => JSON.parse(line)).filter(({ event }) => event === "connection");
  };
  return { directory, text, project, probe, upstream, connections, warnings };
}

export function openProbed(configuration: Configuration, onWarning: (warning: string) => void): Project {
  const keyring = { get: async () => undefined };
  const project = new Project(configuration, { env: { PATH: process.env.PATH }, keyring, onWarning });
  onTestFinished(() => project.close());
  return project;
}

export const ENGINES = ["docker", "runsc"] as const;

/** Why an engine cannot be tested here; empty if it can. */
export const problemOf = (engine: LocalEngine): string =>
  inject(engine === inject("testedEngine") ? "sandboxProblem" : "otherEngineProblem");
