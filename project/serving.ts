import {
  type Access,
  type AccessGate,
  type Authorizer,
  mayAccess,
  type Viewer,
} from "../broker/policy/authorizer.ts";
import { describeOffServers } from "../configuration/configured-servers.ts";
import type { FollowedConfiguration } from "../configuration/follow.ts";
import { buildAuthorizer, refuseUnmatchedPatterns } from "../configuration/policy/configured-policy.ts";
import type { ExecutedRun } from "../execution/output/executed-run.ts";
import { RunOutputs } from "../execution/runs/run-outputs.ts";
import { LearningBetweenRuns } from "../generation/learning/learn-between-runs.ts";
import { loadPrinters, type Printers } from "../languages/languages.ts";
import { owns } from "../protocol/run-context.ts";
import { serverModule } from "../protocol/tool-names.ts";
import type { LiveCatalog } from "../tools/live-catalog.ts";
import { buildProgramTools } from "../tools/program-tools.ts";
import { FollowedRanking } from "../tools/search/open-ranking.ts";
import { ServedCatalog } from "../tools/served-catalog.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { Host, type HostOptions } from "./host.ts";
import type { Project } from "./open-project.ts";
import { refuseBrokenWalls } from "./sandboxes/open-known-walls.ts";

/** A server that has not been called for this long is ended. The next call starts it again. */
const IDLE_MS = 5 * 60_000;

export interface ServingOptions
  extends Pick<HostOptions, "authorizer" | "credentials" | "engine" | "telemetry"> {
  /** Modules are generated from the tools that servers list to this principal. */
  principal: string;
  /** The source of the project's configuration, if edits should take effect while ptc serves. */
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
export async function openServing(
  project: Project,
  { principal, following, ...seams }: ServingOptions,
): Promise<Serving> {
  const { configuration, env, onWarning } = project;
  await refuseBrokenWalls(configuration, env, seams.engine);
  const refresh = async () => following?.refresh();
  const policy = new FollowedPolicy(seams.authorizer ?? (await buildAuthorizer(configuration)), refresh);
  const gate = openGate(project, policy);
  let printers = await loadPrinters(configuration.languages);
  const catalog = new ServedCatalog({
    configuration,
    authorizer: policy,
    ranking: new FollowedRanking(
      { principal },
      { env, onSecret: (secret) => project.redactor.add(secret), onWarning },
    ),
    onWarning,
  });
  refuseUnmatchedPatterns(configuration, (await catalog.currentTools()).all);
  tellOfServers(project);
  const outputs = new RunOutputs(
    () => project.runs,
    (viewer, of, runId) => gate(viewer, { action: "read_runs", of }, runId),
  );
  const warnUnrecorded = ({ recorded }: ExecutedRun) =>
    void recorded.then((problem) => problem === undefined || onWarning(problem));
  const listing = new FirstListing(catalog, principal, onWarning);
  const noticed: Parameters<NonNullable<LiveCatalog["onNotice"]>>[0][] = [];
  const options: HostOptions = {
    ...seams,
    idleMs: IDLE_MS,
    onNotice: (server, of, notice) => {
      for (const listener of noticed) listener(serverModule(server), of, notice);
    },
    authorizer: policy,
    catalog,
    gate,
    warm: configuration.sandbox.warm,
    listings: {
      principal,
      observer: {
        listed: (server, listed) => catalog.absorb(server, listed),
        failed: (server, why) => listing.miss(server, why),
        isSuperseded: (server) => catalog.isSuperseded(server),
      },
    },
    onServers: (servers) => listing.begin(servers),
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
  const host = new Host(project, options, async () => (await import("./composition.ts")).composition);
  following?.use(async (next) => {
    await refuseBrokenWalls(next, env, seams.engine);
    const nextPolicy = seams.authorizer ?? (await buildAuthorizer(next));
    const { stored } = await catalog.latest();
    refuseUnmatchedPatterns(next, buildProgramTools(next, stored, nextPolicy).all);
    policy.use(nextPolicy);
    printers = await loadPrinters(next.languages);
    await catalog.reconfigure(next);
    await host.reconfigure(next);
    tellOfServers(project);
    listing.again();
  });
  // An archive elsewhere is not read, because it also holds other people's runs.
  if (!project.isArchivedElsewhere) learnBetweenRuns(host, catalog);
  return {
    host,
    catalog: {
      ...followedCatalog(project, catalog, refresh),
      onNotice: (listener) => void noticed.push(listener),
    },
    printers: () => printers,
    outputs,
    gate,
    async listed() {
      await host.warm();
      await listing.done;
      await catalog.absorbed();
    },
  };
}

/** Says what the configuration holds back, and which servers it turns off. */
function tellOfServers({ configuration, onWarning }: Project): void {
  for (const warning of [...configuration.held, ...describeOffServers(configuration)]) onWarning(warning);
}

/** The policy in force. A new prohibition applies to the next call, even of a running program. */
class FollowedPolicy implements Authorizer {
  #policy: Authorizer;
  readonly #refresh: () => Promise<void>;

  constructor(policy: Authorizer, refresh: () => Promise<void>) {
    this.#policy = policy;
    this.#refresh = refresh;
  }

  use(next: Authorizer): void {
    this.#policy = next;
  }

  async authorize(...call: Parameters<Authorizer["authorize"]>) {
    await this.#refresh();
    return this.#policy.authorize(...call);
  }

  async groupsOfLogins() {
    await this.#refresh();
    return (await this.#policy.groupsOfLogins?.()) ?? [];
  }

  /** Whether a viewer may have what is another's, with the rule that says so. */
  async mayAccess(viewer: Viewer, access: Access): Promise<{ may: boolean; rule: string | undefined }> {
    await this.#refresh();
    return {
      may: mayAccess(this.#policy, viewer, access),
      rule: this.#policy.decideAccess?.(viewer, access).rule,
    };
  }

  isVisible(...asked: Parameters<Authorizer["isVisible"]>) {
    return this.#policy.isVisible(...asked);
  }

  isKnown(...asked: Parameters<NonNullable<Authorizer["isKnown"]>>) {
    return this.#policy.isKnown?.(...asked) !== false;
  }

  whyHidden(...asked: Parameters<NonNullable<Authorizer["whyHidden"]>>) {
    return this.#policy.whyHidden?.(...asked);
  }

  decideAccess(...asked: Parameters<NonNullable<Authorizer["decideAccess"]>>) {
    return this.#policy.decideAccess?.(...asked) ?? { kind: "deny" as const };
  }
}

/** Decides who may have what is another's, and notes in the audit log who was given it. */
function openGate(project: Project, policy: FollowedPolicy): AccessGate {
  return async (viewer, access, runId) => {
    const { may, rule } = await policy.mayAccess(viewer, access);
    if (!may) return false;
    const { principal } = viewer;
    if (access.action === "audit") {
      (await project.auditLog()).access({ principal, action: access.action, runId, rule });
    } else if (!owns(viewer, access.of) && runId !== undefined) {
      const of = access.of.principal;
      (await project.auditLog()).access({ principal, action: access.action, runId, of, rule });
    }
    return true;
  };
}

/** Learns of results between the runs of a host, until its project ends. */
function learnBetweenRuns({ project, runs }: Host, catalog: ServedCatalog): void {
  const learning = new LearningBetweenRuns({
    configuration: () => project.configuration,
    env: project.env,
    stored: async () => (await catalog.latest()).stored,
    publish: (types) => catalog.learn(types),
    onWarning: project.onWarning,
  });
  runs.subscribe((event) => learning.onRun(event));
  project.onClose(async () => learning.close());
}

/** The catalog that clients read. */
function followedCatalog(
  project: Project,
  catalog: ServedCatalog,
  refresh: () => Promise<void>,
): LiveCatalog {
  return {
    async current(viewer) {
      await refresh();
      return catalog.current(viewer);
    },
    async exposed(viewer) {
      await refresh();
      const tools = await catalog.currentTools();
      if (tools.programs === undefined) return [];
      const { exposedPrograms } = await import("../tools/exposed-programs.ts");
      return exposedPrograms(tools, viewer, project.configuration.languages);
    },
    async direct(viewer) {
      await refresh();
      const { chooseDirectTools } = await import("../tools/direct-tools.ts");
      return chooseDirectTools(await catalog.current(viewer), project.configuration);
    },
    onServersChanged: (listener) => catalog.onServersChanged(listener),
  };
}

/** Lists the servers that were never listed, in the background, so that `ptc serve` works without `ptc generate`. */
class FirstListing {
  /** Resolves when each of them is in the catalog, or could not be listed. */
  done: Promise<void> = Promise.resolve();
  #servers: { list(name: string, principal: string): Promise<void> } | undefined;
  readonly #catalog: ServedCatalog;
  readonly #principal: string;
  readonly #onWarning: (message: string) => void;

  constructor(catalog: ServedCatalog, principal: string, onWarning: (message: string) => void) {
    this.#catalog = catalog;
    this.#principal = principal;
    this.#onWarning = onWarning;
  }

  /** Called once, when the servers can be used. */
  begin(servers: { list(name: string, principal: string): Promise<void> }): void {
    this.#servers = servers;
    this.again();
  }

  again(): void {
    const servers = this.#servers;
    if (servers !== undefined) this.done = this.#list(servers);
  }

  /** Notes that a server could not be listed. */
  miss(server: string, { message }: Error): void {
    this.#catalog.miss(server, message);
    this.#onWarning(message);
  }

  async #list(servers: { list(name: string, principal: string): Promise<void> }): Promise<void> {
    const unknown = await this.#catalog.unknownServers();
    for (const name of unknown) this.#catalog.miss(name, "its tools are being listed; try again in a moment");
    await Promise.all(
      unknown.map(async (name) => {
        try {
          await servers.list(name, this.#principal);
        } catch (error) {
          if (!(error instanceof UpstreamError)) throw error;
          this.miss(name, error);
        }
      }),
    );
  }
}
