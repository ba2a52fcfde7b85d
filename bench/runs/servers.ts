import { chmodSync, cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseConfiguration } from "../../configuration/parse.ts";
import { Project } from "../../project/open-project.ts";
import { composeUpstreams } from "../../project/servers/upstreams.ts";
import type { Upstream } from "../../upstream/upstream.ts";
import { type Bench, type Figure, type Measurement, ratio } from "../measurement.ts";

const PACKAGE = "@modelcontextprotocol/server-memory";
const FIXTURES = join(import.meta.dirname, "../../tests/fixtures/servers");
const SMALL_BYTES = 100;
const LARGE_BYTES = 10 * 1024 * 1024;
const TIMEOUT_MS = 120_000;
const PROCESS = "the same as a process";

/** Servers over stdio in a sandbox, alternately with the same as processes of this machine. */
export const servers: Measurement = {
  name: "servers",
  about: "servers in sandboxes against the same as processes: start, calls, large answers",
  async measure(bench) {
    return [...(await calls(bench)), ...(await starts(bench))];
  },
};

async function calls(bench: Bench): Promise<Figure[]> {
  const fixtures = join(bench.folder, "fixtures");
  cpSync(FIXTURES, fixtures, { recursive: true });
  const entry = { command: "node", args: [join(fixtures, "large-answer.mjs")] };
  const both = open(bench, "calls", entry, { files: [{ path: fixtures }] });
  try {
    const figures: Figure[] = [];
    for (const [name, bytes, rounds, maxRatio] of [
      ["a call of a server in a sandbox", SMALL_BYTES, 200, 1.3],
      ["an answer of 10 MB of a server in a sandbox", LARGE_BYTES, 15, 1.3],
    ] as const) {
      const took = { walled: [] as number[], plain: [] as number[] };
      for (let round = -3; round < bench.rounds(rounds); round++)
        for (const way of ["walled", "plain"] as const) {
          const begin = performance.now();
          await both[way].call({
            tool: "tool",
            arguments: { bytes },
            signal: new AbortController().signal,
            timeoutMs: TIMEOUT_MS,
          });
          if (round >= 0) took[way].push(performance.now() - begin);
        }
      figures.push(
        ratio({ name, measuredMs: took.walled, against: PROCESS, baselineMs: took.plain, maxRatio }),
      );
    }
    return figures;
  } finally {
    await both.close();
  }
}

/** From nothing to the list of tools, each round with a process or sandbox of its own. The packages are there already, both ways. */
async function starts(bench: Bench): Promise<Figure[]> {
  const both = open(bench, "starts", { command: "npx", args: ["-y", PACKAGE] }, {});
  const took = { walled: [] as number[], plain: [] as number[] };
  try {
    for (let round = -1; round < bench.rounds(12); round++)
      for (const way of ["walled", "plain"] as const) {
        const begin = performance.now();
        await both[way].list();
        if (round >= 0) took[way].push(performance.now() - begin);
        await both[way].close();
      }
  } catch (error) {
    bench.skip(
      `the start of \`npx -y ${PACKAGE}\``,
      `it was not fetched: ${error instanceof Error ? error.message : String(error)}`,
    );
    return [];
  } finally {
    await both.close();
  }
  const name = "start of a server from fixed packages in a sandbox";
  return [
    ratio({
      name,
      measuredMs: took.walled,
      against: "a warm `npx`",
      baselineMs: took.plain,
      maxRatio: 1,
    }),
  ];
}

interface BothWays {
  walled: Upstream;
  plain: Upstream;
  close(): Promise<void>;
}

/** One server, in a sandbox and as a process, started when first used. */
function open(
  { folder }: Bench,
  name: string,
  entry: { command: string; args: string[] },
  sandbox: object,
): BothWays {
  const directory = join(folder, name);
  mkdirSync(directory);
  chmodSync(folder, 0o755);
  const servers = [
    { name: "walled", ...entry, sandbox, connect_timeout_seconds: 120 },
    { name: "plain", ...entry, connect_timeout_seconds: 120 },
  ];
  const configuration = parseConfiguration(JSON.stringify({ servers }), {
    file: "ptc.yaml",
    directory,
    environment: {},
  });
  const project = new Project(configuration, {
    env: process.env,
    keyring: { get: async () => undefined },
    onWarning: () => {},
  });
  const { pool } = composeUpstreams(project, { resolvesPackages: "missing" });
  const get = (server: string) => {
    const found = pool.get("local", server);
    if (found === undefined) throw new Error(`there is no server '${server}'`);
    return found;
  };
  return { walled: get("walled"), plain: get("plain"), close: () => project.close() };
}
