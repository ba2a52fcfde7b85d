import type { AuditLog } from "../archive/audit/audit-log.ts";
import { clock } from "../base/clock.ts";
import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { consoleAddress } from "../configuration/http-settings.ts";
import type { ProgramHost } from "../execution/run-host.ts";
import { LazySessions, projectOf } from "../execution/sessions/open-sessions.ts";
import type { SessionsOptions } from "../execution/sessions/sessions.ts";
import { OpenLanguages } from "../languages/languages.ts";
import { loginServer } from "../logins/logins.ts";
import type { WebLogins } from "../logins/web-logins.ts";
import { Notifier } from "../notify/notifier.ts";
import { LOCAL_PRINCIPAL } from "../protocol/run-context.ts";
import { moduleUrl } from "../system/package.ts";
import type { FollowedListings, LiveToolServers } from "../upstream/live-tool-servers.ts";
import { type LoginSecrets, readAuthSecret } from "../upstream/secret-sources.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";
import { composeChecks } from "./checks.ts";
import type { Project } from "./open-project.ts";
import { recorderOf } from "./records.ts";
import { type ComposedSandboxes, composeSandboxes, type SandboxesOptions } from "./sandboxes/sandboxes.ts";
import { composeServers, liveServers } from "./servers/upstreams.ts";

export interface ExecutionOptions
  extends Pick<SandboxesOptions, "engine" | "warm">,
    Pick<ProgramHost, "authorizer" | "runs" | "telemetry"> {
  audit: AuditLog;
  pool: UpstreamPool;
  /** Reads secrets for logins at the servers. */
  secrets: LoginSecrets;
  /** Sandboxes, one of which is starting for the first program. */
  warmed?: ComposedSandboxes | undefined;
  /** Where people log in with browsers who are not at this machine. */
  webLogins?: (() => Pick<WebLogins, "begin"> | undefined) | undefined;
  /** Receives what servers list to one principal while programs run. */
  listings?: FollowedListings | undefined;
  /** Returns once how a session of an earlier process ended. */
  takeLostSession?: SessionsOptions["takeLost"];
}

/** The parts that execute runs under a configuration. */
export interface Execution {
  /** The parts that all runs share. */
  shared: ProgramHost;
  servers: LiveToolServers;
  /** Runs later programs under another configuration. Its archive settings are ignored. */
  reconfigure(next: Configuration): void;
  /** Loads in advance what programs need, and starts no sandbox. */
  prepare(): void;
  /** Starts in advance the parts that the next program of a client that is there would otherwise wait for. */
  warm(): void;
}

/** Composes the parts that runs share. They end with the project. */
export function composeExecution(project: Project, options: ExecutionOptions): Execution {
  const { env, own, configuration } = project;
  let current = configuration;
  const { pool, secrets, audit, listings, telemetry } = options;
  const composed = options.warmed ?? composeSandboxes(project, options);
  const sandboxes = composed.pool;
  const swept = composed.sweep();
  telemetry?.observePool(() => sandboxes.state);
  const servers = composeServers(configuration, pool, listings);
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  const languages = new OpenLanguages(configuration.languages, {
    onSpawn: (pid) => own.state.groups.record(pid),
    onExit: (pid) => own.state.groups.forget(pid),
    folder: own.state.path,
  });
  const notifier = new Notifier({
    settings: () => current.notify,
    linkTo(ticket) {
      const address = consoleAddress(current.http);
      return address && `${address}/inbox/${encodeURIComponent(ticket)}`;
    },
    readSecret: async (secret, signal) => (await readAuthSecret(secret, secrets, signal)) ?? "",
    env,
    onWarning: project.onWarning,
  });
  const checks = composeChecks(project, () => current.interceptors, secrets);
  const sessions = new LazySessions({
    sandboxesWith: (runner) => sandboxes.withRunner(runner),
    settings: () => current.sessions,
    clock,
    takeLost: options.takeLostSession,
    own,
    project: () => projectOf(current),
  });
  project.onClose(() =>
    Promise.all([sessions.close(), notifier.close(), validator.close(), languages.close(), swept]),
  );
  return {
    servers,
    shared: {
      env,
      servers,
      validator,
      sandboxes,
      languages,
      sessions,
      telemetry,
      configuration: () => current,
      redactor: project.redactor,
      authorizer: options.authorizer,
      recorder: recorderOf(project, audit),
      notifier,
      checks,
      runs: options.runs,
      startLogin: (principal) => async (server, signal) => {
        const webLogins = options.webLogins?.();
        // Only whoever started ptc sits at this machine.
        if (webLogins !== undefined && principal !== LOCAL_PRINCIPAL)
          return webLogins.begin(principal, server, signal);
        const { beginLogin } = await import("../logins/log-in.ts");
        return beginLogin(loginServer(current, server), principal, {
          env,
          secrets,
          signal,
          configuration: current,
          onLogin: (event) => audit.login(event),
        });
      },
      loginAddress: (principal) =>
        principal === LOCAL_PRINCIPAL
          ? undefined
          : async (server, signal) => {
              const login = await options
                .webLogins?.()
                ?.begin(principal, server, signal)
                .catch(() => undefined);
              login?.cancel("nobody waits for it");
              return login?.url;
            },
    },
    reconfigure(next) {
      current = next;
      languages.turnOn(next.languages);
      servers.replace(liveServers(next, pool));
      composed.reconfigure(next);
    },
    prepare: () => void languages.warm(),
    warm() {
      sandboxes.wake();
      void languages.warm();
    },
  };
}
