import { UpstreamError } from "../upstream/upstream-error.ts";
import { describeOffServers } from "./configuration/off-servers.ts";
import { buildAuthorizer, refuseUnmatchedPatterns } from "./configured-policy.ts";
import { refuseBrokenWalls } from "./doctor/open-known-walls.ts";
import { Host, type HostOptions } from "./host.ts";
import type { ProgramRunner } from "./program-runner.ts";
import { ServedCatalog } from "./tools/served-catalog.ts";

/** A server that has not been called for this long is ended. The next call starts it again. */
const IDLE_MS = 5 * 60_000;

export interface ServingOptions
  extends Pick<
    HostOptions,
    "configuration" | "env" | "authorizer" | "credentials" | "archive" | "engine" | "onWarning"
  > {
  /** What servers list to this principal is what modules are made of. */
  principal: string;
}

/** A host whose catalog follows what the servers list. */
export interface Serving {
  host: Host;
  catalog: ServedCatalog;
  runner: ProgramRunner;
}

/**
 * Opens a host that runs many programs, with sandboxes started in advance. The parts that run programs are loaded with the
 * first program, or by `warm`. Servers that were never listed are listed then.
 *
 * @throws SandboxError `wall_broken`, CatalogError, ConfigurationError
 */
export async function openServing({ principal, ...seams }: ServingOptions): Promise<Serving> {
  const { configuration, env, onWarning } = seams;
  await refuseBrokenWalls(configuration, env, seams.engine);
  const authorizer = seams.authorizer ?? buildAuthorizer(configuration);
  const catalog = new ServedCatalog({ configuration, authorizer, onWarning });
  refuseUnmatchedPatterns(configuration, (await catalog.currentTools()).all);
  for (const warning of describeOffServers(configuration)) onWarning(warning);
  const miss = (server: string, { message }: Error) => {
    catalog.miss(server, message);
    onWarning(message);
  };
  const options: HostOptions = {
    ...seams,
    authorizer,
    catalog,
    idleMs: IDLE_MS,
    warm: configuration.sandbox.warm,
    listings: {
      principal,
      observer: {
        listed: (server, listing) => catalog.absorb(server, listing),
        failed: miss,
        isSuperseded: (server) => catalog.isSuperseded(server),
      },
    },
    onServers: (servers) =>
      void listUnknownServers({ list: (server) => servers.list(server, principal) }, catalog, miss),
  };
  const host = new Host(options, async () => (await import("./composition/composition.ts")).composition);
  const runner: ProgramRunner = {
    async run(program, options) {
      const executed = await host.run(program, options);
      void executed.recorded.then((problem) => problem === undefined || onWarning(problem));
      return executed;
    },
  };
  return { host, catalog, runner };
}

/** Lists the servers that were never listed, in the background, so that `ptc serve` works without `ptc generate`. */
async function listUnknownServers(
  servers: { list(name: string): Promise<void> },
  catalog: ServedCatalog,
  miss: (server: string, why: Error) => void,
): Promise<void> {
  const unknown = await catalog.unknownServers();
  for (const name of unknown) catalog.miss(name, "its tools are being listed; try again in a moment");
  await Promise.all(
    unknown.map(async (name) => {
      try {
        await servers.list(name);
      } catch (error) {
        if (!(error instanceof UpstreamError)) throw error;
        miss(name, error);
      }
    }),
  );
}
