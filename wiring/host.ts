import { setTimeout as delay } from "node:timers/promises";
import type { ArchiveStore } from "../archive/archive-store.ts";
import type { AuditLog } from "../archive/audit/audit-log.ts";
import { openArchive } from "../archive/open-archive.ts";
import type { Authorizer, Viewer } from "../broker/policy/authorizer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { buildAuthorizer } from "../configuration/policy/configured-policy.ts";
import type { ExecutedCall, ExecutedProgram } from "../execution/output/executed-run.ts";
import { openPending } from "../execution/pending/open-pending.ts";
import type { PendingApprovals } from "../execution/pending/pending-approvals.ts";
import type { Replayed } from "../execution/replay/replay-program.ts";
import type { ReplayRequest } from "../execution/replay/replay-run.ts";
import type { CallRequest, ProgramRequest, TakenProgram } from "../execution/run-request.ts";
import { RunFeed } from "../execution/runs/run-feed.ts";
import type { OpenSessions } from "../execution/sessions/kept-session.ts";
import type { SessionsOptions } from "../execution/sessions/sessions.ts";
import type { Preparation } from "../languages/language.ts";
import type { UnresolvedProgram } from "../languages/resolve-program.ts";
import { UserSecrets } from "../logins/user-secrets.ts";
import type { OpenEngine } from "../sandbox/sandbox-engine.ts";
import { Redactor } from "../secrets/redaction.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { type OwnProcess, openState } from "../system/state-directory.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { loadProgramTools, type ProgramTools } from "../tools/program-tools.ts";
import type { CredentialSource } from "../upstream/authorization/credentials.ts";
import type { FollowedListings, LiveToolServers } from "../upstream/live-tool-servers.ts";
import type { SecretKeyring } from "../upstream/secret-source.ts";
import type { PoolOptions } from "../upstream/upstream-pool.ts";
import type { Composition } from "./composition.ts";
import type { Execution } from "./execution.ts";
import type { ComposedSandboxes } from "./sandboxes.ts";
import type { ReconfigurablePool } from "./upstreams.ts";

/**
 * What programs are run against: every tool, hidden ones too, so that a call of one is refused for what it is. It is read
 * when a run begins, and tells nobody of changes. `LiveCatalog` is the catalog that clients look at.
 */
export interface HostCatalog {
  /** The tools as they are known now. @throws CatalogError */
  currentTools(): Promise<ProgramTools>;
  /** Like `currentTools`, but resolves only when the modules of the tools are on disk. @throws CatalogError */
  forProgram(): Promise<ProgramTools>;
}

export interface HostOptions extends PoolOptions {
  configuration: Configuration;
  env: EnvironmentVariables;
  /** Defaults to the generated catalog, read once from disk. */
  catalog?: HostCatalog;
  /** Decides who may call what; the lists of the configuration without it. A `catalog` must go by the same. */
  authorizer?: Authorizer | undefined;
  /** What servers are told so that they know whom they serve; what the configuration says without it. */
  credentials?: CredentialSource | undefined;
  /** Where `{ keyring: NAME }` is read from; the user's keyring without it. */
  keyring?: SecretKeyring | undefined;
  /** Opens what keeps runs, once. The host closes it. Defaults to the configured archive. */
  archive?: (() => ArchiveStore) | undefined;
  /** What starts sandboxes; by default the engine of `./engine.ts`. */
  engine?: OpenEngine | undefined;
  /** How many sandboxes are kept started; defaults to none. */
  warm?: number;
  /** Sandboxes of which one is being started for the first program. The host ends them and removes the process's folder. */
  warmed?: ComposedSandboxes | undefined;
  /** Is told what servers list to one principal while programs run. */
  listings?: FollowedListings;
  /** Is called once, when the servers are there for programs. */
  onServers?: (servers: LiveToolServers) => void;
  /** Says, once, how a session ended that an earlier process had in the place of this one. */
  takeLostSession?: SessionsOptions["takeLost"];
  /** Is called when the host begins to close. */
  onClose?: () => void;
  /** What tells a collector of runs. Whoever opened it closes it. */
  telemetry?: Telemetry | undefined;
  /** Receives failures that belong to no run. */
  onWarning: (message: string) => void;
}

/**
 * ptc without a user interface, shared by the commands and the server. Nothing is started or written before it is first
 * needed.
 */
export class Host {
  #configuration: Configuration;
  /** The events of this host's runs. */
  readonly runs = new RunFeed();
  readonly #options: HostOptions;
  readonly #load: () => Promise<Composition>;
  readonly #authorizer: () => Promise<Authorizer>;
  readonly #catalog: HostCatalog;
  /** The only redactor of this host, so that a secret added to it is redacted everywhere. */
  readonly #redactor: Redactor;
  #audit: Promise<AuditLog> | undefined;
  #archive: ArchiveStore | undefined;
  #own: OwnProcess | undefined;
  #pool: Promise<ReconfigurablePool> | undefined;
  #execution: Promise<Execution> | undefined;

  /** @param load is called when servers or programs are first needed. */
  constructor(options: HostOptions, load: () => Promise<Composition>) {
    this.#configuration = options.configuration;
    this.#options = options;
    this.#load = load;
    this.#redactor = new Redactor(options.configuration.secrets, options.configuration.credentials);
    const { authorizer, configuration } = options;
    this.#authorizer = async () => authorizer ?? buildAuthorizer(configuration);
    this.#catalog = options.catalog ?? readOnce(options.configuration, this.#authorizer);
  }

  get configuration(): Configuration {
    return this.#configuration;
  }

  /**
   * Takes another configuration into use: for later programs, and for later calls of those that run. Its archive is not
   * looked at, and who may call what is decided by the `authorizer` of before.
   */
  async reconfigure(next: Configuration): Promise<void> {
    this.#configuration = next;
    this.#redactor.learn(next.secrets, next.credentials);
    (await this.#pool?.catch(() => undefined))?.reconfigure(next);
    (await this.#execution?.catch(() => undefined))?.reconfigure(next);
  }

  /** Keeps this host's runs. The host closes it. */
  get archive(): ArchiveStore {
    const { archive = () => openArchive(this.#configuration.archive) } = this.#options;
    this.#archive ??= archive();
    return this.#archive;
  }

  /** Has a secret that is not in the configuration redacted wherever text leaves this host. */
  redact(secret: string): void {
    this.#redactor.add(secret);
  }

  /** The tools as they are known now. @throws CatalogError when what was generated cannot be read, or was edited. */
  currentTools(): Promise<ProgramTools> {
    return this.#catalog.currentTools();
  }

  /** Starts in advance what the first program would otherwise wait for. @throws StateDirectoryError as `run` does. */
  async warm(): Promise<void> {
    (await this.#executing()).warm();
  }

  /**
   * Runs a program with the tools that are known when it begins. Failures of the program, a server or the engine are in
   * the envelope.
   *
   * @throws StateDirectoryError when the folder for this process's files cannot be made, CatalogError as `currentTools` does.
   */
  async run(request: ProgramRequest): Promise<ExecutedProgram> {
    try {
      const execution = await this.#executing();
      return await execution.run(request, await this.#catalog.forProgram());
    } catch (error) {
      await request.resumed?.leave(true);
      throw error;
    }
  }

  /** Makes one call without a sandbox, with the tools that are known when it begins. @throws as `run` does. */
  async call(request: CallRequest): Promise<ExecutedCall> {
    const execution = await this.#executing();
    return execution.call(request, await this.#catalog.currentTools());
  }

  /**
   * Bundles a program and checks its types, and does not run it.
   *
   * @param tools those that it is checked against; those that are known now without it.
   * @throws StateDirectoryError, CatalogError as `run` does.
   */
  async check(program: UnresolvedProgram, viewer: Viewer, tools?: ProgramTools): Promise<Preparation> {
    const execution = await this.#executing();
    const checked = await execution.check(program, tools ?? (await this.#catalog.forProgram()), viewer);
    if (checked.ok) return checked;
    return { ...checked, message: this.#redactor.redactText(checked.message).value };
  }

  /** Takes a run whose question was answered, or says why not. @throws PendingError when what was kept cannot be read. */
  async takeSuspended(principal: string, ticket: string): Promise<TakenProgram> {
    const taken = await (await this.pendingApprovals()).take(principal, ticket);
    return taken.kind === "resumed" ? { kind: "taken", resumed: taken.resumed } : taken;
  }

  /** The runs that wait for approvals. */
  async pendingApprovals(): Promise<PendingApprovals> {
    return openPending(this.configuration, this.#options.env);
  }

  /** The sessions of programs that are open. Ending one ends the program that runs in it. */
  sessions(principal: string): OpenSessions {
    const opened = async () => (await this.#execution)?.sessions.ifOpened();
    return {
      list: async () => (await opened())?.list(principal) ?? [],
      end: async (name) => (await (await opened())?.end(principal, name)) ?? false,
    };
  }

  /** Runs a recorded program again, without any server. @throws StateDirectoryError as `run` does. */
  async replay(request: ReplayRequest): Promise<Replayed> {
    return (await this.#executing()).replay(request);
  }

  /**
   * Ends every server and removes what this process keeps on disk. Never throws.
   *
   * @param patienceMs after this time, processes that are still running are killed, and sandboxes are left to their engine.
   */
  async close(patienceMs?: number): Promise<void> {
    this.#options.onClose?.();
    const execution = await this.#execution?.catch(() => undefined);
    const pool = await this.#pool?.catch(() => undefined);
    const { kept = this.#archive?.close(), ended } = execution?.end() ?? {};
    const late = patienceMs === undefined ? [] : [delay(patienceMs, undefined, { ref: false })];
    const untaken = this.#options.warmed?.pool.close();
    await Promise.race([Promise.all([pool?.pool.close(), ended, untaken]), ...late]);
    await kept;
    await (await this.#audit?.catch(() => undefined))?.close();
    const own = this.#own ?? this.#options.warmed?.own;
    own?.state.groups.kill();
    own?.state.remove();
  }

  #openProcess(): OwnProcess {
    this.#own ??= this.#options.warmed?.own ?? openState(this.#options.env);
    return this.#own;
  }

  #upstreams(): Promise<ReconfigurablePool> {
    this.#pool ??= this.#load().then(({ composeUpstreams }) =>
      composeUpstreams(this.configuration, this.#openProcess().state.groups, {
        ...this.#options,
        keyring: this.#options.keyring ?? new UserSecrets(this.#options.env),
        redactor: this.#redactor,
        onLogin: (event) => void this.#auditing().then((audit) => audit.login(event)),
      }),
    );
    return this.#pool;
  }

  #auditing(): Promise<AuditLog> {
    this.#audit ??= this.#load().then(({ openAuditLog }) =>
      openAuditLog(this.configuration, {
        redact: (name) => this.#redactor.redactText(name).value,
        env: this.#options.env,
        onWarning: this.#options.onWarning,
      }),
    );
    return this.#audit;
  }

  #executing(): Promise<Execution> {
    this.#execution ??= this.#compose();
    return this.#execution;
  }

  async #compose(): Promise<Execution> {
    const { onServers } = this.#options;
    const { composeExecution } = await this.#load();
    const { pool, secrets } = await this.#upstreams();
    const execution = composeExecution(this.configuration, {
      ...this.#options,
      authorizer: await this.#authorizer(),
      own: this.#openProcess(),
      pool,
      secrets,
      redactor: this.#redactor,
      archive: this.archive,
      audit: await this.#auditing(),
      runs: this.runs,
    });
    onServers?.(execution.servers);
    return execution;
  }
}

function readOnce(configuration: Configuration, authorizer: () => Promise<Authorizer>): HostCatalog {
  let loading: Promise<ProgramTools> | undefined;
  const load = () => {
    loading ??= authorizer().then((decides) => loadProgramTools(configuration, decides));
    return loading;
  };
  return { currentTools: load, forProgram: load };
}
