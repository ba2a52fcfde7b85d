/** Learns what a server needs of its sandbox: from a start in one, and from what it asked for in earlier use. */

import { existsSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { countTools } from "../../catalog/parse-tool.ts";
import type { Configuration, ServerConfiguration, ServerSandbox } from "../../configuration/configuration.ts";
import { isWithin, sandboxOf } from "../../configuration/server-sandbox.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { LOCAL_USER } from "../local-user.ts";
import type { Project } from "../open-project.ts";
import { composeUpstreams } from "./upstreams.ts";

/** What a server was seen to need. */
export interface ObservedServer {
  /** Entries of `sandbox.network`: those that it has, and the others that the server asked for, sorted. */
  network: string[];
  /** Those of `network` that it does not have yet. */
  wanted: string[];
  /** Entries of `sandbox.files`: those that it has, and what its arguments and variables name. Paths are relative within the project. */
  files: { path: string; write?: true }[];
  memoryMb: number;
  /** How many tools it listed; undefined if it did not start. */
  tools: number | undefined;
  /** Why it did not start. */
  problem: string | undefined;
}

type Stdio = ServerConfiguration & { transport: "stdio" };

const USUAL_PORTS: readonly unknown[] = [443, 80];

/**
 * Starts a server in its sandbox, or in one that reaches nothing where it has none, and lists its tools. The sandbox is opened for nothing
 * that the server asks for. Packages that the lock does not have are resolved into it.
 *
 * @returns undefined if there is no such server over stdio.
 */
export async function observeServer(
  project: Project,
  name: string,
  signal: AbortSignal,
): Promise<ObservedServer | undefined> {
  const { configuration } = project;
  const server = configuration.servers.find((each) => each.name === name);
  if (server?.transport !== "stdio") return undefined;
  const sandbox = observedSandbox(server, configuration);
  const asked = new Set<string>();
  const { pool, reconfigure } = composeUpstreams(project, {
    resolvesPackages: "missing",
    onConnection: (connection) => asked.add(entryOf(connection)),
  });
  reconfigure({
    ...configuration,
    sandbox: { ...configuration.sandbox, servers: "required" },
    servers: configuration.servers.map((each) => (each === server ? { ...server, sandbox } : each)),
  });
  let tools: number | undefined;
  let problem: string | undefined;
  try {
    const listing = await pool.get(LOCAL_USER.principal, name)?.list(signal);
    tools = listing && countTools(listing.tools);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    problem = error.message;
  }
  const earlier = project.readAudit().entries({ events: ["connection"], server: name });
  for await (const { fields } of earlier)
    if (typeof fields.destination === "string")
      asked.add(entryOf({ host: fields.destination, port: fields.port }));
  const had = sandbox.network.flatMap(({ host, ports }) =>
    ports.every((port) => USUAL_PORTS.includes(port)) ? host : ports.map((port) => `${host}:${port}`),
  );
  const wanted = [...asked].filter((entry) => !had.includes(entry)).sort();
  const shown = (path: string) =>
    isWithin(path, configuration.directory) ? `./${relative(configuration.directory, path)}` : path;
  return {
    network: [...had, ...wanted],
    wanted,
    files: sandbox.files.map(({ path, write }) => ({ path: shown(path), ...(write ? { write } : {}) })),
    memoryMb: sandbox.memoryMb,
    tools,
    problem,
  };
}

/** A host as `sandbox.network` names it. */
function entryOf({ host, port }: { host: string; port?: unknown }): string {
  return port === undefined || USUAL_PORTS.includes(port) ? host : `${host}:${String(port)}`;
}

/** The sandbox of a server, with the files that its arguments and variables name, to be read. */
function observedSandbox(server: Stdio, { sandbox: { servers: mode } }: Configuration): ServerSandbox {
  const own = sandboxOf(
    { ...server, sandbox: server.sandbox || undefined },
    mode === "off" ? "required" : mode,
  );
  const { network = [], files = [], memoryMb = 512 } = own ?? {};
  const named = [
    ...server.args.filter((argument) => isAbsolute(argument) || /^\.{1,2}(?:\/|$)/.test(argument)),
    ...Object.values(server.env).filter((value) => isAbsolute(value)),
  ].map((text) => resolve(server.cwd, text));
  const more = [...new Set(named)].filter(
    (path) => path !== "/" && existsSync(path) && !files.some((file) => isWithin(path, file.path)),
  );
  return { network, files: [...files, ...more.map((path) => ({ path, write: false }))], memoryMb };
}
