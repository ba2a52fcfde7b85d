import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { clock } from "../../../../base/clock.ts";
import { FollowedConfiguration } from "../../../../configuration/follow.ts";
import { everyLabel, isDecidedByRun } from "../../../../configuration/policy/configured-flow.ts";
import { Project } from "../../../../project/open-project.ts";
import { openServing } from "../../../../project/serving.ts";
import type { RunContext } from "../../../../protocol/run-context.ts";
import { McpService } from "../../../../server/mcp/service.ts";
import { clientViews } from "../../../../tools/client-names.ts";
import { checkValue } from "../../../../tools/exposed-programs.ts";
import { projectInProcess } from "../../../cli/in-process.ts";
import { fixtureServer } from "../../../cli/ptc-process.ts";
import { InProcessEngine, type ProgramFunction } from "../../../sandbox/in-process-engine.ts";
import { CONNECT, type Era } from "../clients.ts";
import { connectTo } from "../served.ts";

/** A definition of a tool that answers with its argument `answer`. */
export function toolNamed(name: string, more: object = {}) {
  const properties = { answer: { type: "object" } };
  return { name, description: `Does ${name}`, inputSchema: { type: "object", properties }, ...more };
}

/** A server that lists what a test writes, and answers what a test asks it to. */
export const DESK = fixtureServer("desk", "answers-as-asked.mjs", ["tools.json"]);

export type Served = Awaited<ReturnType<typeof serveProject>>;

/**
 * A ptc whose server `desk` lists these tools, all of it in this process but for that server: what `ptc serve` wires, with an
 * engine whose sandboxes are functions.
 */
export async function serveProject(
  tools: readonly object[],
  settings: object = {},
  program: ProgramFunction = async () => null,
  files: Readonly<Record<string, string>> = {},
) {
  const configured = { servers: [DESK], sandbox: { warm: 0 }, execution: { typecheck: "off" }, ...settings };
  const { project, ptc, auditLines } = projectInProcess(configured);
  const list = (listed: readonly object[]) => project.write("tools.json", JSON.stringify(listed));
  list(tools);
  for (const [name, text] of Object.entries(files)) project.write(name, text);
  expect(await ptc(["generate"])).toMatchObject({ code: 0 });
  const { directory } = project;
  const env = {
    HOME: directory,
    PATH: process.env.PATH,
    PTC_KEYRING: "off",
    XDG_RUNTIME_DIR: join(directory, "run"),
    XDG_STATE_HOME: join(directory, "state"),
  };
  /** Serves one client, as a process of `ptc serve` does. @param context of its runs; by default the local user's. */
  const serve = async (context?: RunContext) => {
    const following = await FollowedConfiguration.open({
      flag: undefined,
      env,
      cwd: directory,
      onEdit: () => {},
    });
    const warnings: string[] = [];
    const { host, catalog, printers, outputs } = await openServing(
      new Project(following.current, { env, onWarning: (message) => warnings.push(message) }),
      { following, principal: "local", engine: () => new InProcessEngine(program) },
    );
    const service = new McpService({
      version: "1.2.3",
      ...{ catalog, printers, outputs, clock, checkValue },
      runner: host,
      limits: () => host.configuration.execution,
      direct: () => ({
        isOneRun: host.configuration.directRuns === "conversation",
        isDecidedByRun: isDecidedByRun(host.configuration),
      }),
      labels: () => everyLabel(host.configuration),
      views: () => clientViews(host.configuration),
    });
    const served = connectTo(service, context);
    onTestFinished(async () => {
      served.toServer.end();
      await served.ended;
      following.stop();
      await host.close();
    });
    return { ...served, warnings, host };
  };
  return { project, ptc, auditLines, list, serve, configured };
}

/** A client that has listed the tools, so that it checks results by their output schemas. */
export async function connect(
  served: Served,
  answer?: Parameters<(typeof CONNECT)[Era]>[1],
  era: Era = "2025-11-25",
  context?: RunContext,
) {
  const client = (await CONNECT[era]((await served.serve(context)) as never, answer)) as Awaited<
    ReturnType<(typeof CONNECT)["2025-11-25"]>
  >;
  const { tools } = await client.listTools();
  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args }) as Promise<{
      content: { type: string; text: string }[];
      isError?: boolean;
      structuredContent?: unknown;
      _meta: { "ptc/envelope": { run_id: string; input_digest: string; result: { ok: boolean } } };
    }>;
  return { client, tools, call };
}
