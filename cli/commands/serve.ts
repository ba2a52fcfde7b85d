import { resolve } from "node:path";
import { UpstreamError } from "../../broker/upstream-error.ts";
import type { ProgramRunner } from "../../server/program-runner.ts";
import { claudeCommand } from "../claude-command.ts";
import { clock } from "../clock.ts";
import type { DefineCommand } from "../command.ts";
import type { Execution } from "../composition.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { version } from "../package.ts";
import { ServedCatalog } from "../served-catalog.ts";
import { SIGNALS, type Surroundings } from "../surroundings.ts";
import { refuseUnmatchedPatterns } from "../tool-set.ts";

/** A server that nobody has called for so long is ended; the next call starts it again. */
const IDLE_MS = 5 * 60_000;

const MAX_WARNINGS = 10_000;

/** Clients give a server that they end less than a second. */
const PATIENCE_MS = 250;

/** `ptc serve` */
export const serveCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("serve")
    .description("serve execute_program, search_tools, inspect_tool and list_callable_tools over stdio (MCP)")
    .option("--config <file>", "configuration file")
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
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const onWarning = warnOnce(stderr);
  const catalog = new ServedCatalog({ configuration, onWarning });
  refuseUnmatchedPatterns(configuration, await catalog.current());

  // The client has its first answers before any of what runs programs is loaded.
  let composed: Promise<Execution> | undefined;
  const compose = () => {
    composed ??= composeServing(configuration, env, catalog, onWarning);
    return composed;
  };
  const runner: ProgramRunner = {
    async run(program, options) {
      const execution = await compose();
      const executed = await execution.run(program, await catalog.forProgram(), {
        ...options,
        source: "serve",
      });
      void executed.recorded.then((problem) => problem === undefined || onWarning(problem));
      return executed;
    },
  };
  for (const signal of SIGNALS) surroundings.on(signal, () => stdin.destroy());
  const { serveMcp } = await import("../../server/mcp-server.ts");
  await serveMcp({
    version,
    catalog,
    runner,
    clock,
    onReady: () => void compose().then((execution) => execution.warm()),
    maxPrograms: configuration.execution.maxParallelPrograms,
    stdin,
    stdout,
    onWarning,
  });
  await (await composed)?.close(PATIENCE_MS);
  return EXIT.done;
}

/** Says each thing once, however often it happens. */
function warnOnce(stderr: Surroundings["stderr"]): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message) || said.size >= MAX_WARNINGS) return;
    said.add(message);
    stderr.write(`ptc: warning: ${message}\n`);
  };
}

async function composeServing(
  configuration: Configuration,
  env: Surroundings["env"],
  catalog: ServedCatalog,
  onWarning: (message: string) => void,
): Promise<Execution> {
  const { composeExecution } = await import("../composition.ts");
  const execution = composeExecution(configuration, env, {
    idleMs: IDLE_MS,
    warm: configuration.sandbox.warm,
    onWarning,
    listingObserver: {
      listed: (server, listing) => catalog.absorb(server, listing),
      failed: (server, { message }) => miss(server, message, catalog, onWarning),
      isSuperseded: (server) => catalog.isSuperseded(server),
    },
  });
  void listUnknownServers(execution, catalog, onWarning);
  return execution;
}

/** Servers that were never listed are, in the background, so that ptc is useful before anybody ran `ptc generate`. */
async function listUnknownServers(
  { servers }: Execution,
  catalog: ServedCatalog,
  onWarning: (message: string) => void,
): Promise<void> {
  const unknown = await catalog.unknownServers();
  for (const name of unknown) catalog.miss(name, "its tools are being listed; try again in a moment");
  await Promise.all(unknown.map((name) => list(name, servers, catalog, onWarning)));
}

async function list(
  name: string,
  servers: Execution["servers"],
  catalog: ServedCatalog,
  onWarning: (message: string) => void,
): Promise<void> {
  try {
    await servers.list(name);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    miss(name, error.message, catalog, onWarning);
  }
}

function miss(name: string, why: string, catalog: ServedCatalog, onWarning: (message: string) => void): void {
  catalog.miss(name, why);
  onWarning(why);
}
