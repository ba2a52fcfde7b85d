import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { clock } from "../../base/clock.ts";
import { oneLine } from "../../base/visible-text.ts";
import { entryInstead, STARTED_BY_PLUGIN } from "../../configuration/clients/claude-code.ts";
import { whyNoServers } from "../../configuration/configured-servers.ts";
import { FollowedConfiguration } from "../../configuration/follow.ts";
import { everyLabel, followsValues } from "../../configuration/policy/configured-flow.ts";
import { whyNoSession } from "../../execution/sessions/session-name.ts";
import type { McpService } from "../../server/mcp/service.ts";
import { version } from "../../system/package.ts";
import { openTelemetry } from "../../telemetry/open-telemetry.ts";
import { checkValue } from "../../tools/exposed-programs.ts";
import { openServing } from "../../wiring/serving.ts";
import { claudeCommand } from "../claude-command.ts";
import { CONFIG, type DefineCommand, EXIT, type ExitCode, SIGNALS, type Surroundings } from "../command.ts";
import { LOCAL_USER, localContext } from "../local-user.ts";

const MAX_WARNINGS = 10_000;

/** How long to wait for a clean end. Clients wait less than a second for a server that they end. */
const PATIENCE_MS = 250;

/** `ptc serve` */
export const serveCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("serve")
    .description("serve execute_program, search_tools and three more tools over stdio (MCP)")
    .option(...CONFIG)
    .addHelpText(
      "after",
      () => `\nExample:\n  ${claudeCommand(surroundings, resolve(surroundings.cwd(), "ptc.yaml"))}\n`,
    )
    .action(async (flags: { config?: string }) => {
      finish(await serve(flags, surroundings));
    });
};

async function serve(flags: { config?: string }, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdin, stdout, stderr } = surroundings;
  const following = await FollowedConfiguration.open({
    flag: flags.config,
    env,
    cwd: surroundings.cwd(),
    onEdit: (message) => void stderr.write(`ptc: ${oneLine(message)}\n`),
  });
  const onWarning = warnOnce(stderr);
  const { current: configuration } = following;
  if (env[STARTED_BY_PLUGIN] !== undefined) {
    const cwd = surroundings.cwd();
    const file = configuration.file === undefined ? undefined : resolve(cwd, configuration.file);
    const instead = entryInstead(env, cwd, file);
    if (instead !== undefined) {
      stderr.write(
        `ptc: Claude Code has ptc here as '${oneLine(instead.name)}' (${oneLine(instead.file)}); the plugin's stands aside\n`,
      );
      for (const signal of SIGNALS) surroundings.on(signal, () => stdin.destroy());
      const { serveNothing } = await import("../../server/mcp/mcp-server.ts");
      await serveNothing({ version, stdin, stdout, onWarning });
      return EXIT.done;
    }
  }
  const nothing = whyNoServers(configuration);
  if (nothing !== undefined) onWarning(nothing);
  const telemetry = await openTelemetry(env, { version, onWarning });
  const { host, catalog, printers, outputs } = await openServing({
    configuration,
    following,
    env,
    telemetry,
    onWarning,
    ...LOCAL_USER,
  });
  following.watch();
  for (const signal of SIGNALS) surroundings.on(signal, () => stdin.destroy());
  const { serveMcp } = await import("../../server/mcp/mcp-server.ts");
  const { McpService } = await import("../../server/mcp/service.ts");
  const service = new McpService({
    version,
    catalog,
    printers,
    runner: host,
    outputs,
    telemetry,
    clock,
    // The client gets its first answers before the code that runs programs is loaded.
    onReady: () => void host.warm(),
    limits: () => host.configuration.execution,
    approvesAtClient: () => host.configuration.approvals.require === "any",
    whyNoSession: (name) => whyNoSession(name, host.configuration),
    checkValue,
    labels: () => everyLabel(host.configuration),
    notice: () => following.problem ?? whyNoServers(host.configuration),
  });
  // One process has started ptc and holds its standard streams, so there is one conversation.
  const context = { ...localContext("serve", env), session: randomUUID() };
  const said = followsValues(configuration) ? await listenForUser(service, host.folder) : undefined;
  await serveMcp(service, { context, stdin, stdout, onWarning });
  said?.close();
  following.stop();
  await Promise.all([host.close(PATIENCE_MS), telemetry?.close(PATIENCE_MS)]);
  return EXIT.done;
}

/** Receives the user's words from a hook of the client. Called only if labels depend on them. */
async function listenForUser(service: McpService, folder: string) {
  const { SaidSocket } = await import("../../server/mcp/said-socket.ts");
  return new SaidSocket(folder, process.ppid, (text) => service.say(text));
}

/** Prints each distinct message once. */
function warnOnce(stderr: Surroundings["stderr"]): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message) || said.size >= MAX_WARNINGS) return;
    said.add(message);
    stderr.write(`ptc: warning: ${oneLine(message)}\n`);
  };
}
