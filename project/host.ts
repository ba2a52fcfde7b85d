import type { ArchiveStore } from "../archive/archive-store.ts";
import { clock } from "../base/clock.ts";
import { oneLine } from "../base/visible-text.ts";
import type { AccessGate, Authorizer, Viewer } from "../broker/policy/authorizer.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { buildAuthorizer } from "../configuration/policy/configured-policy.ts";
import { limitedGroups } from "../configuration/policy/local-groups.ts";
import { UsageLimits } from "../execution/limits/usage-limits.ts";
import type { ExecutedCall, ExecutedProgram } from "../execution/output/executed-run.ts";
import type { PlannedProgram } from "../execution/output/planned-program.ts";
import {
  approvalOf,
  type PendingApproval,
  type PendingApprovals,
} from "../execution/pending/pending-approvals.ts";
import { PendingError } from "../execution/pending/tickets.ts";
import type { Replayed } from "../execution/replay/replay-program.ts";
import type { ReplayRequest } from "../execution/replay/replay-run.ts";
import { ReplayTurns } from "../execution/replay/replay-turns.ts";
import type {
  CallRequest,
  ProgramRequest,
  ProgramRunner,
  SuspendedPrograms,
} from "../execution/run-request.ts";
import { RunFeed } from "../execution/runs/run-feed.ts";
import { ArrivalOrder } from "../execution/sessions/arrival-order.ts";
import type { OpenSessions } from "../execution/sessions/kept-session.ts";
import type { ConfiguredServers } from "../generation/list-servers.ts";
import type { Preparation } from "../languages/language.ts";
import type { UnresolvedProgram } from "../languages/resolve-program.ts";
import { openLoginStore } from "../logins/logins.ts";
import type { WebLogins, WebLoginsOptions } from "../logins/web-logins.ts";
import type { Answered, SlackAnswer } from "../notify/slack.ts";
import { continuing, identityOf, narrowed } from "../protocol/run-context.ts";
import { openUseCounters } from "../storage/storage.ts";
import { loadProgramTools, type ProgramTools } from "../tools/program-tools.ts";
import { Callers } from "../upstream/authorization/callers.ts";
import { readAuthSecret } from "../upstream/secret-sources.ts";
import type { composition } from "./composition.ts";
import type { Execution, ExecutionOptions } from "./execution.ts";
import type { Project } from "./open-project.ts";
import type { ReconfigurablePool, UpstreamsOptions } from "./servers/upstreams.ts";

/**
 * The catalog for running programs. It includes hidden tools, so that a call of one is refused with the right reason. It is read when
 * a run begins, and notifies nobody of changes. `LiveCatalog` is the catalog that clients read.
 */
export interface HostCatalog {
  /** The tools as they are known now. @throws CatalogError */
  currentTools(): Promise<ProgramTools>;
  /** Like `currentTools`, but resolves only when the modules of the tools are on disk. @throws CatalogError */
  forProgram(): Promise<ProgramTools>;
}

export interface HostOptions
  extends Pick<UpstreamsOptions, "credentials" | "idleMs" | "backoff" | "onNotice">,
    Pick<ExecutionOptions, "engine" | "warm" | "warmed" | "listings" | "takeLostSession" | "telemetry"> {
  /** Defaults to the generated catalog, read once from disk. */
  catalog?: HostCatalog;
  /** Decides who may call what; by default the lists of the configuration. A `catalog` must use the same authorizer. */
  authorizer?: Authorizer | undefined;
  observer?: HostObserver;
  /** Decides who may have what is another's. If absent, nobody may. */
  gate?: AccessGate | undefined;
  /** Called once, when the servers are ready for programs. */
  onServers?: (servers: Execution["servers"]) => void;
}

/** Observes the runs of a host that serves. */
interface HostObserver {
  /** Resolves when a run may begin, or a suspended one be taken. */
  beforeRun(): Promise<void>;
  onProgram(executed: ExecutedProgram, request: ProgramRequest): void;
  onCall(executed: ExecutedCall, request: CallRequest): void;
}

/**
 * ptc without a user interface, shared by the commands and the server. Nothing is started or written before it is first
 * needed.
 */
export class Host implements ProgramRunner {
  /** What the host is of. It ends with it. */
  readonly project: Project;
  /** The events of this host's runs. */
  readonly runs = new RunFeed();
  /** Replays that people ask for, by turns. */
  readonly replays = new ReplayTurns({ admit: (context) => this.use.admit(context) });
  readonly #options: HostOptions;
  readonly #load: () => Promise<typeof composition>;
  readonly #authorizer: () => Promise<Authorizer>;
  readonly #catalog: HostCatalog;
  readonly #arrivals = new ArrivalOrder();
  readonly #callers = new Callers();
  #pool: Promise<ReconfigurablePool> | undefined;
  #execution: Promise<Execution> | undefined;
  #use: UsageLimits | undefined;
  #webLogins: WebLogins | undefined;

  /** @param load called when servers or programs are first needed. */
  constructor(project: Project, options: HostOptions, load: () => Promise<typeof composition>) {
    this.project = project;
    this.#options = options;
    this.#load = load;
    const { authorizer } = options;
    const { configuration } = project;
    this.#authorizer = async () => authorizer ?? buildAuthorizer(configuration);
    this.#catalog = options.catalog ?? readOnce(configuration, this.#authorizer);
    // Parts that are being opened register how they end.
    project.onClose(() => Promise.allSettled([this.#pool, this.#execution]));
  }

  get configuration(): Configuration {
    return this.project.configuration;
  }

  /**
   * Switches to another configuration for later programs, and for later calls of running programs. Its archive settings are ignored,
   * and the earlier `authorizer` still decides who may call what.
   */
  async reconfigure(next: Configuration): Promise<void> {
    this.project.reconfigure(next);
    (await this.#pool?.catch(() => undefined))?.reconfigure(next);
    (await this.#execution?.catch(() => undefined))?.reconfigure(next);
  }

  /** Keeps this host's runs. */
  get archive(): ArchiveStore {
    return this.project.runs;
  }

  /** The tools as they are known now. @throws CatalogError when the generated files cannot be read or were edited. */
  currentTools(): Promise<ProgramTools> {
    return this.#catalog.currentTools();
  }

  /** What principals may use of this host. */
  get use(): UsageLimits {
    if (this.#use === undefined) {
      const use = new UsageLimits({
        counters: openUseCounters(this.configuration, this.project.env),
        settings: () => this.configuration.limits,
        groups: () => limitedGroups(this.configuration),
        clock,
      });
      this.project.afterClose(() => use.close());
      this.#use = use;
    }
    return this.#use;
  }

  /**
   * Has people log in at servers with browsers, wherever they are. Returns what answers these, and `undefined` for requests that are
   * not about logins. To be called once, before the first run.
   */
  async serveLogins(
    options: Pick<WebLoginsOptions, "publicUrl" | "sealer" | "issuers" | "principalOf">,
  ): Promise<(request: Request) => Promise<Response | undefined>> {
    const { secrets } = await this.#upstreams();
    const { WebLogins } = await import("../logins/web-logins.ts");
    const logins = new WebLogins({
      ...options,
      configuration: () => this.configuration,
      store: openLoginStore(this.project.env, this.configuration),
      secrets,
      onLogin: (event) => this.project.auditLogin(event),
    });
    this.#webLogins = logins;
    return (request) => logins.handle(request);
  }

  /**
   * Begins the login of a principal at a server: with a browser wherever it is, once `serveLogins` was called, and otherwise on this
   * machine. `undefined` where the server asks for none.
   *
   * @throws UpstreamError when no login is possible, StateDirectoryError.
   */
  async startLogin(principal: string, server: string, signal: AbortSignal) {
    const { shared } = await this.#executing();
    return shared.startLogin?.(principal)(server, signal);
  }

  /** The servers as a principal uses them, to be listed. @throws StateDirectoryError */
  async serversOf(principal: string): Promise<ConfiguredServers> {
    const { pool } = await this.#upstreams();
    return { get: (name) => pool.get(principal, name) };
  }

  /** Loads in advance what programs need, and starts no sandbox, because no client is there. @throws StateDirectoryError as `run` does. */
  async prepare(): Promise<void> {
    (await this.#executing()).prepare();
  }

  /** Starts in advance what the next program of a client would otherwise wait for. @throws StateDirectoryError as `run` does. */
  async warm(): Promise<void> {
    (await this.#executing()).warm();
  }

  /**
   * Runs a program with the tools that are known when it begins. Failures of the program, a server or the engine are in
   * the envelope.
   *
   * @throws StateDirectoryError when the folder for this process's files cannot be made, CatalogError as `currentTools` does.
   */
  async run(asked: ProgramRequest): Promise<ExecutedProgram> {
    const { observer } = this.#options;
    const { resumed, context } = asked;
    const request =
      resumed === undefined
        ? asked
        : {
            ...asked,
            context: narrowed(continuing(context, resumed.began), resumed.run.toolsets ?? []),
          };
    const arrival = this.#arrivals.note(request);
    const release = this.#hold(request);
    try {
      await observer?.beforeRun();
      const { runProgram, shared } = await this.#ready();
      const executed = await runProgram(request, shared, {
        tools: await this.#catalog.forProgram(),
        arrival,
      });
      observer?.onProgram(executed, request);
      return executed;
    } catch (error) {
      await request.resumed?.leave(true);
      throw error;
    } finally {
      release();
      arrival?.pass();
    }
  }

  /**
   * Rehearses a program with the tools that are known now: it changes nothing, nobody is asked, and it is no run.
   *
   * @throws as `run` does.
   */
  async plan(request: ProgramRequest): Promise<PlannedProgram> {
    const release = this.#hold(request);
    try {
      await this.#options.observer?.beforeRun();
      const { planProgram, shared } = await this.#ready();
      return await planProgram(request, shared, { tools: await this.#catalog.forProgram() });
    } finally {
      release();
    }
  }

  /** Has the caller's token known while its request is under way. */
  #hold({ context }: ProgramRequest | CallRequest): () => void {
    return this.#callers.hold(context.principal, context.callerToken);
  }

  /** Makes one call without a sandbox, with the tools that are known when it begins. @throws as `run` does. */
  async call(request: CallRequest): Promise<ExecutedCall> {
    const { observer } = this.#options;
    const release = this.#hold(request);
    try {
      await observer?.beforeRun();
      const { makeCall, shared } = await this.#ready();
      const executed = await makeCall(request, shared, { tools: await this.#catalog.currentTools() });
      observer?.onCall(executed, request);
      return executed;
    } finally {
      release();
    }
  }

  /**
   * Bundles a program and checks its types without running it.
   *
   * @param tools the tools for the check; by default those that are known now.
   * @throws StateDirectoryError, CatalogError as `run` does.
   */
  async check(program: UnresolvedProgram, viewer: Viewer, tools?: ProgramTools): Promise<Preparation> {
    const { checkProgram, shared } = await this.#ready();
    const known = tools ?? (await this.#catalog.forProgram());
    const checked = await checkProgram(program, viewer, shared, { tools: known });
    if (checked.ok) return checked;
    return { ...checked, message: this.project.redactText(checked.message) };
  }

  /** The runs that wait for approvals. */
  pendingApprovals(): Promise<PendingApprovals> {
    return this.project.pendingApprovals();
  }

  /** Takes an answer that somebody gives in Slack (`notify.slack`). */
  async answerSlack(request: Request): Promise<Response> {
    const { answerSlack } = await import("../notify/slack.ts");
    const settings = () => this.configuration.notify.slack;
    return answerSlack(request, {
      settings,
      readSecrets: async () => {
        const { secrets } = await this.#upstreams();
        const [url = "", signingSecret = ""] = await Promise.all(
          [settings()?.url, settings()?.signingSecret].map((each) => readAuthSecret(each, secrets)),
        );
        return { url, signingSecret };
      },
      answer: (answer) => this.#answerFromSlack(answer),
      now: clock.wallMs,
      onWarning: this.project.onWarning,
    });
  }

  async #answerFromSlack(given: SlackAnswer): Promise<Answered> {
    const { ticket, digest, decision, approver, member, username } = given;
    const { principal, groups } = approver;
    try {
      // Slack says nothing of groups: without the configured ones, all that could forbid something does.
      const boundGroups = groups === undefined ? await this.#groupsOfLogins() : undefined;
      const pending = await this.#mayAnswer(identityOf({ principal, groups, boundGroups }), ticket);
      if (pending?.digest !== digest)
        return { counts: false, why: "this question waits no more, or is not yours to answer" };
      const approvals = await this.pendingApprovals();
      const { owner } = pending;
      const named =
        username === undefined ? "" : `, whose name there is ${JSON.stringify(oneLine(username))}`;
      const how = `Slack, member ${member}${named}`;
      if (await approvals.answer(owner.principal, pending, { decision, by: principal, how }))
        return { counts: true, tool: pending.request.tool };
      return { counts: false, why: "this question was answered before, and the first answer counts" };
    } catch (error) {
      if (!(error instanceof PendingError)) throw error;
      return { counts: false, why: error.message };
    }
  }

  async #groupsOfLogins(): Promise<readonly string[]> {
    const authorizer = this.#options.authorizer ?? (await buildAuthorizer(this.configuration));
    return (await authorizer.groupsOfLogins?.()) ?? [];
  }

  /** The pending approvals, for a client that continues the runs. */
  readonly suspended: SuspendedPrograms = {
    take: async (viewer, ticket) => {
      await this.#options.observer?.beforeRun();
      return (await this.pendingApprovals()).take(viewer, ticket);
    },
    answer: async (...given) => (await this.pendingApprovals()).answer(...given),
    isAnswered: async (...asked) => (await this.pendingApprovals()).isAnswered(...asked),
    ofAnother: (viewer, ticket) => this.#mayAnswer(viewer, ticket),
  };

  /** The question of a ticket, if somebody may answer it. */
  async #mayAnswer(viewer: Viewer, ticket: string): Promise<PendingApproval | undefined> {
    const { gate } = this.#options;
    if (gate === undefined) return undefined;
    const approvals = await this.pendingApprovals();
    const listed = await approvals.look(ticket);
    if (listed === undefined) return undefined;
    const { owner, request } = listed;
    return (await gate(viewer, approvalOf(owner, request), request.runId))
      ? approvals.get(ticket)
      : undefined;
  }

  /** The open sessions of a principal. Ending a session ends the program that runs in it. */
  sessions(principal: string): OpenSessions {
    const opened = async () => (await this.#execution)?.shared.sessions.ifOpened();
    return {
      list: async () => (await opened())?.list(principal) ?? [],
      end: async (name) => (await (await opened())?.end(principal, name)) ?? false,
    };
  }

  /** Runs a recorded program again, without any server. @throws StateDirectoryError as `run` does. */
  async replay(request: ReplayRequest): Promise<Replayed> {
    const { shared } = await this.#ready();
    const { replayRun } = await import("../execution/replay/replay-run.ts");
    return replayRun(request, shared);
  }

  /** Ends the project of this host, with all its parts. Never throws. @param patienceMs as for `Project.close`. */
  close(patienceMs?: number): Promise<void> {
    return this.project.close(patienceMs);
  }

  #upstreams(): Promise<ReconfigurablePool> {
    this.#pool ??= this.#load().then(({ composeUpstreams }) =>
      composeUpstreams(this.project, { ...this.#options, callers: this.#callers }),
    );
    return this.#pool;
  }

  /** The functions that carry out runs, and the parts that all runs share. */
  async #ready(): Promise<typeof composition & Pick<Execution, "shared">> {
    const { shared } = await this.#executing();
    return { ...(await this.#load()), shared };
  }

  #executing(): Promise<Execution> {
    this.#execution ??= this.#compose();
    return this.#execution;
  }

  async #compose(): Promise<Execution> {
    const { onServers } = this.#options;
    const { composeExecution } = await this.#load();
    const { pool, secrets } = await this.#upstreams();
    const execution = composeExecution(this.project, {
      ...this.#options,
      authorizer: await this.#authorizer(),
      pool,
      secrets,
      webLogins: () => this.#webLogins,
      audit: await this.project.auditLog(),
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
