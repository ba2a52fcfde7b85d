import { type AccessGate, type Authorizer, mayAccess } from "../broker/policy/authorizer.ts";
import { describeOffServers } from "../configuration/configured-servers.ts";
import type { FollowedConfiguration } from "../configuration/follow.ts";
import { buildAuthorizer, refuseUnmatchedPatterns } from "../configuration/policy/configured-policy.ts";
import type { ExecutedRun } from "../execution/output/executed-run.ts";
import { RunOutputs } from "../execution/runs/run-outputs.ts";
import { LearningBetweenRuns } from "../generation/learning/learn-between-runs.ts";
import { loadPrinters, type Printers } from "../languages/languages.ts";
import { owns } from "../protocol/run-context.ts";
import type { LiveCatalog } from "../tools/live-catalog.ts";
import { buildProgramTools } from "../tools/program-tools.ts";
import { FollowedRanking } from "../tools/search/open-ranking.ts";
import { ServedCatalog } from "../tools/served-catalog.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { Host, type HostOptions } from "./host.ts";
import { refuseBrokenWalls } from "./open-known-walls.ts";

/** A server that has not been called for this long is ended. The next call starts it again. */
const IDLE_MS = 5 * 60_000;

export interface ServingOptions
  extends Pick<
    HostOptions,
    "configuration" | "env" | "authorizer" | "credentials" | "archive" | "engine" | "telemetry" | "onWarning"
  > {
  /** Modules are generated from the tools that servers list to this principal. */
  principal: string;
  /** The source of `configuration`, if edits should take effect while ptc serves. */
  following?: Pick<FollowedConfiguration, "refresh" | "use"> | undefined;
}

export interface Serving {
  /** Its catalog follows what the servers list, and it follows its configuration. */
  host: Host;
  catalog: LiveCatalog;
  /** The printers of the languages that are on now. */
  printers: () => Printers;
  /** The whole outputs of runs. */
  outputs: RunOutputs;
  /** Who may have what is another's. */
  gate: AccessGate;
  /** Resolves when each server that was never listed is in the catalog, or could not be listed. @throws as `Host.warm` does. */
  listed(): Promise<void>;
}

/**
 * Opens a host that runs many programs, with sandboxes started in advance. The parts that run programs are loaded with the
 * first program, or by `warm`. Servers that were never listed are listed then.
 *
 * An edit of the configuration that cannot be used changes nothing. Any other edit applies completely to programs that begin later.
 * Running programs keep their limits, modules and data. Each of their calls is decided by the lists in force at that time, and goes
 * to the servers configured at that time. Unchanged servers keep running.
 *
 * @throws SandboxError `wall_broken`, CatalogError, ConfigurationError
 */
export async function openServing({ principal, following, ...seams }: ServingOptions): Promise<Serving> {
  const { configuration, env, onWarning } = seams;
  await refuseBrokenWalls(configuration, env, seams.engine);
  let policy = seams.authorizer ?? (await buildAuthorizer(configuration));
  const refresh = async () => following?.refresh();
  const authorizer: Authorizer = {
    async authorize(...call) {
      // A new prohibition applies to the next call, even of a running program.
      await refresh();
      return policy.authorize(...call);
    },
    isVisible: (viewer, tool) => policy.isVisible(viewer, tool),
    whyHidden: (viewer, tool) => policy.whyHidden?.(viewer, tool),
    async groupsOfLogins() {
      await refresh();
      return (await policy.groupsOfLogins?.()) ?? [];
    },
    decideAccess: (viewer, access) => policy.decideAccess?.(viewer, access) ?? { kind: "deny" },
  };
  let printers = await loadPrinters(configuration.languages);
  const catalog = new ServedCatalog({
    configuration,
    authorizer,
    ranking: new FollowedRanking(
      { principal },
      { env, onSecret: (secret) => host.redact(secret), onWarning },
    ),
    onWarning,
  });
  refuseUnmatchedPatterns(configuration, (await catalog.currentTools()).all);
  for (const warning of [...configuration.held, ...describeOffServers(configuration)]) onWarning(warning);
  const miss = (server: string, { message }: Error) => {
    catalog.miss(server, message);
    onWarning(message);
  };
  let listing: Promise<void> = Promise.resolve();
  let listUnknown = () => {};
  const learning = new LearningBetweenRuns({
    configuration: () => host.configuration,
    env,
    stored: async () => (await catalog.latest()).stored,
    publish: (types) => catalog.learn(types),
    onWarning,
  });
  const options: HostOptions = {
    ...seams,
    onClose: () => learning.close(),
    authorizer,
    catalog,
    gate: (...asked) => gate(...asked),
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
    onServers(servers) {
      listUnknown = () => {
        listing = listUnknownServers({ list: (server) => servers.list(server, principal) }, catalog, miss);
      };
      listUnknown();
    },
    observer: {
      beforeRun: refresh,
      onProgram(executed, { context }) {
        outputs.remember(executed, context);
        warnUnrecorded(executed);
      },
      onCall(executed, { context }) {
        outputs.rememberCall(executed, context);
        warnUnrecorded(executed);
      },
    },
  };
  const host: Host = new Host(options, async () => (await import("./composition.ts")).composition);
  following?.use(async (next) => {
    await refuseBrokenWalls(next, env, seams.engine);
    const nextPolicy = seams.authorizer ?? (await buildAuthorizer(next));
    const { stored } = await catalog.latest();
    refuseUnmatchedPatterns(next, buildProgramTools(next, stored, nextPolicy).all);
    policy = nextPolicy;
    printers = await loadPrinters(next.languages);
    await catalog.reconfigure(next);
    await host.reconfigure(next);
    for (const warning of [...next.held, ...describeOffServers(next)]) onWarning(warning);
    listUnknown();
  });
  // An archive elsewhere is not read, because it also holds other people's runs.
  if (seams.archive === undefined) host.runs.subscribe((event) => learning.onRun(event));
  const gate: AccessGate = async (viewer, access, runId) => {
    await refresh();
    if (!mayAccess(policy, viewer, access)) return false;
    const isOthers = access.action === "audit" || !owns(viewer, access.of);
    if (isOthers && (access.action === "audit" || runId !== undefined))
      await host.noteAccess({
        ...{ principal: viewer.principal, action: access.action, runId },
        ...(access.action === "audit" ? {} : { of: access.of.principal }),
        rule: policy.decideAccess?.(viewer, access).rule,
      });
    return true;
  };
  const outputs = new RunOutputs(
    () => host.archive,
    (viewer, of, runId) => gate(viewer, { action: "read_runs", of }, runId),
  );
  const warnUnrecorded = ({ recorded }: ExecutedRun) =>
    void recorded.then((problem) => problem === undefined || onWarning(problem));
  const current: LiveCatalog = {
    async current(viewer) {
      await refresh();
      return catalog.current(viewer);
    },
    async exposed(viewer) {
      await refresh();
      const tools = await catalog.currentTools();
      if (tools.programs === undefined) return [];
      const { exposedPrograms } = await import("../tools/exposed-programs.ts");
      return exposedPrograms(tools, viewer, host.configuration.languages);
    },
    async direct(viewer) {
      await refresh();
      const { chooseDirectTools } = await import("../tools/direct-tools.ts");
      return chooseDirectTools(await catalog.current(viewer), host.configuration);
    },
    onServersChanged: (listener) => catalog.onServersChanged(listener),
  };
  const listed = async () => {
    await host.warm();
    await listing;
    await catalog.absorbed();
  };
  return { host, catalog: current, printers: () => printers, outputs, gate, listed };
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
