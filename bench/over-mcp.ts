import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Comparison } from "./report.ts";

const ROUNDS = 60;
const CALL_ROUNDS = 15;
const CALLS = 100;
/** Long enough for the pool to be full again. */
const REFILL_MS = 700;
const PTC = join(import.meta.dirname, "../dist/cli/ptc.js");
const EXECUTOR = join(import.meta.dirname, "node_modules/.bin/executor");
const SERVER = join(import.meta.dirname, "../tests/fixtures/servers/echo-v2.mjs");
const ECHO = { name: "echo", arguments: { text: "x" } };
const IN_TURN = `for (let i = 0; i < ${CALLS}; i++) await mcp__echo__echo({ text: "x" });`;
const AT_ONCE = `await Promise.all(Array.from({ length: ${CALLS} }, () => mcp__echo__echo({ text: "x" })));`;

/**
 * Programs from the client's request to its answer, over MCP on standard streams, type check on and the pool full: a trivial
 * one against the same in `executor mcp`, which isolates nothing, and 100 calls against those of a bare client to the same
 * server. Without the peer, its comparisons are left out visibly.
 *
 * @param directory a folder for the project, which is made
 */
export async function measureOverMcp(directory: string): Promise<Comparison[]> {
  const ptc = await connectPtc(join(directory, "project"));
  const executor = existsSync(EXECUTOR) ? await connectExecutor(join(directory, "executor")) : undefined;
  if (executor === undefined)
    console.log("skipped: `executor mcp`, for want of its package (npm install --prefix bench)");
  const bare = await connect(process.execPath, [SERVER], process.env);
  const run = (code: string) => timed(() => ptc.callTool({ name: "execute_program", arguments: { code } }));
  const evaluate = (code: string) =>
    timed(async () => executor?.callTool({ name: "execute", arguments: { code } }));

  const trivial = { measuredMs: [] as number[], baselineMs: [] as number[] };
  for (let round = -5; round < ROUNDS; round++) {
    await delay(REFILL_MS);
    const measuredMs = await run(`globalThis.result = ${round};`);
    const baselineMs = await evaluate(`return ${round};`);
    if (round < 0) continue;
    trivial.measuredMs.push(measuredMs);
    trivial.baselineMs.push(baselineMs);
  }
  const inTurn = { measuredMs: [] as number[], baselineMs: [] as number[] };
  const atOnce = { measuredMs: [] as number[], baselineMs: [] as number[] };
  for (let round = -2; round < CALL_ROUNDS; round++) {
    await delay(REFILL_MS);
    const measuredInTurn = await run(IN_TURN);
    const bareInTurn = await timed(async () => {
      for (let i = 0; i < CALLS; i++) await bare.callTool(ECHO);
    });
    await delay(REFILL_MS);
    const measuredAtOnce = await run(AT_ONCE);
    const bareAtOnce = await timed(() =>
      Promise.all(Array.from({ length: CALLS }, () => bare.callTool(ECHO))),
    );
    if (round < 0) continue;
    inTurn.measuredMs.push(measuredInTurn);
    inTurn.baselineMs.push(bareInTurn);
    atOnce.measuredMs.push(measuredAtOnce);
    atOnce.baselineMs.push(bareAtOnce);
  }
  await Promise.all([ptc.close(), bare.close(), executor?.close()]);
  const peer = "`executor mcp`, which isolates nothing";
  return [
    ...(executor === undefined
      ? []
      : [
          { name: "trivial program over MCP", ...trivial, against: peer, maxRatio: 1.2 },
          { name: "trivial program over MCP, p95", ...trivial, against: peer, maxRatio: 1.2, at: 0.95 },
        ]),
    {
      name: `${CALLS} calls in turn over MCP`,
      ...inTurn,
      against: "a bare client with the same server",
      maxRatio: 4,
    },
    {
      name: `${CALLS} calls at once over MCP`,
      ...atOnce,
      against: "a bare client with the same server",
      maxRatio: 3,
    },
  ];
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  const reply = await work();
  const tookMs = performance.now() - startedAt;
  if ((reply as { isError?: boolean } | undefined)?.isError === true)
    throw new Error(`the benchmark's program failed: ${JSON.stringify(reply)}`);
  return tookMs;
}

async function connectPtc(project: string): Promise<Client> {
  mkdirSync(project, { recursive: true });
  const server = { name: "echo", command: process.execPath, args: [SERVER] };
  // JSON is YAML as well.
  const configuration = { servers: [server], sandbox: { warm: 4 } };
  writeFileSync(join(project, "ptc.yaml"), JSON.stringify(configuration));
  const { status, stderr } = spawnSync(process.execPath, [PTC, "generate"], { cwd: project });
  if (status !== 0) throw new Error(`ptc generate failed: ${stderr}`);
  return connect(process.execPath, [PTC, "serve"], process.env, project);
}

async function connectExecutor(scope: string): Promise<Client> {
  mkdirSync(join(scope, "home"), { recursive: true });
  const env = { ...process.env, HOME: join(scope, "home") };
  return connect(EXECUTOR, ["mcp", "--scope", scope], env, scope);
}

async function connect(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  cwd = process.cwd(),
): Promise<Client> {
  const client = new Client({ name: "bench", version: "1" });
  const variables = Object.entries(env).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  );
  await client.connect(
    new StdioClientTransport({
      command,
      args,
      env: Object.fromEntries(variables) as Record<string, string>,
      cwd,
      stderr: "ignore",
    }),
  );
  return client;
}
