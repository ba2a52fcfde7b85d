import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openArchive } from "../../archive/open-archive.ts";
import { isObject } from "../../base/json.ts";
import { makeProject, PTC } from "../peers/ptc.ts";
import { realServers } from "./real-calls.ts";

/** What archived runs show of one tool, and what it declares. */
export interface ArchivedTool {
  name: string;
  server: string;
  definition: Readonly<Record<string, unknown>>;
  /** In the order of the calls, one or two of a round. */
  results: readonly unknown[];
}

const PROGRAM = `for (const [tool, args] of data.calls) await callTool(tool, args).catch(() => {});\nresult = true;`;
const SETTINGS = {
  execution: { typecheck: "off" },
  approvals: { allow: ["mcp__*"] },
  sandbox: { warm: 0 },
  learn: "off",
};

/** Calls real servers in runs, a round to a run, and returns what is archived of them. */
export async function archiveResults(folder: string, rounds: number): Promise<ArchivedTool[]> {
  mkdirSync(folder, { recursive: true });
  const { servers, calls } = realServers(folder);
  const project = makeProject(join(folder, "project"), SETTINGS, servers as never);
  for (let round = 0; round < rounds; round++) {
    const run = spawnSync(
      process.execPath,
      [PTC, "run", "-", "--data", JSON.stringify({ calls: calls(round) })],
      {
        cwd: project,
        input: PROGRAM,
        encoding: "utf8",
        env: { ...process.env, PTC_HOST: "off" },
        maxBuffer: 2 ** 28,
      },
    );
    if (run.status !== 0) throw new Error(`a run failed: ${run.stdout}${run.stderr}`);
  }
  const tools = listedTools(project);
  const archive = openArchive({ path: join(project, ".ptc/archive.db"), keepDays: 30 });
  try {
    const { runs } = await archive.following(0, rounds);
    for (const { runId } of runs) {
      const run = await archive.read(runId);
      for (const call of run.record.calls) {
        const outcome = call.ok ? await run.outcomeOf(call) : undefined;
        if (outcome?.ok) tools.get(call.tool)?.results.push(outcome.data);
      }
    }
  } finally {
    await archive.close();
  }
  return [...tools.values()].filter(({ results }) => results.length > 0);
}

function listedTools(project: string) {
  const { servers } = JSON.parse(readFileSync(join(project, "generated/catalog.json"), "utf8")) as {
    servers: { name: string; module: string; tools: unknown[] }[];
  };
  return new Map(
    servers.flatMap(({ name: server, module, tools }) =>
      tools.filter(isObject).map((definition) => {
        const name = `mcp__${module}__${String(definition.name)}`;
        return [name, { name, server, definition, results: [] as unknown[] }] as const;
      }),
    ),
  );
}
