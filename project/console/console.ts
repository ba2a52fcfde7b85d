/** The console of a project: the one place that fills what a console is made of. */
import { basename } from "node:path";
import { messageOf } from "../../base/faults.ts";
import type { AccessGate } from "../../broker/policy/authorizer.ts";
import { Console } from "../../console/console.ts";
import type { ConsoleParts } from "../../console/parts.ts";
import type { RightsOf } from "../../console/viewer.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { loginStatus } from "../../logins/logins.ts";
import { openPasskeyStore, type PasskeyChange, Passkeys } from "../../logins/passkeys.ts";
import { identityOf } from "../../protocol/run-context.ts";
import type { Host } from "../host.ts";
import { localContext } from "../local-user.ts";
import type { Project } from "../open-project.ts";
import { saveForConsole } from "../programs/save-program.ts";
import { callForConsole } from "./call.ts";
import { tokensForConsole } from "./me.ts";
import { testForConsole } from "./programs.ts";
import { replayForConsole } from "./replay.ts";
import { checkForConsole, connectForConsole, disconnectForConsole } from "./servers.ts";

export interface ConsoleOptions
  extends Pick<ConsoleParts, "origin" | "entrance" | "sealer" | "now" | "sessions" | "tools" | "follow"> {
  /** Runs what people try here. Called when the first of them does. */
  host: () => Promise<Host>;
  /** Decides for people who log in. Without it, the one viewer is the person at this machine, who sees the whole project. */
  gate?: AccessGate | undefined;
  /** Called when a passkey was registered or removed. */
  onPasskey: (change: PasskeyChange) => void;
}

export function openConsole(project: Project, options: ConsoleOptions): Console {
  const { env, onWarning } = project;
  const { origin, entrance, sealer, now, sessions, tools, follow, host, gate } = options;
  return new Console({
    project: basename(project.configuration.directory),
    origin,
    entrance,
    sealer,
    now,
    sessions,
    tools,
    follow,
    onWarning,
    configuration: () => project.configuration,
    archive: project.runs,
    pending: () => project.pendingApprovals(),
    audit: project.readAudit(),
    printers: () => loadPrinters(project.configuration.languages),
    replay: async (viewer, runId, signal) =>
      replayForConsole(await host(), project.runs, viewer, runId, signal),
    logins: ({ principal }) =>
      loginStatus(project.configuration, principal, env).catch((error: unknown) => {
        onWarning(messageOf(error));
        return undefined;
      }),
    test: async (viewer, name, signal) => testForConsole(await host(), identityOf(viewer), name, signal),
    connect: async ({ principal }, server, signal) =>
      connectForConsole(await host(), principal, server, signal),
    disconnect: ({ principal }, server) => disconnectForConsole(project, principal, server),
    check: async ({ principal }, signal) => checkForConsole(await host(), principal, signal),
    tokens: tokensForConsole(() => project.configuration, env),
    call: async (viewer, call, signal) => {
      const { name } = viewer;
      const context =
        gate === undefined
          ? localContext("call", env)
          : { ...identityOf(viewer), name, source: "call" as const };
      return callForConsole(await host(), { ...context, client: { name: "ptc console" } }, call, signal);
    },
    save: async (asked) => saveForConsole(await host(), asked),
    passkeys: new Passkeys({
      store: openPasskeyStore(env, project.configuration),
      origin,
      now,
      sealer,
      onChange(change) {
        project.auditLogin(change);
        options.onPasskey(change);
      },
    }),
    rightsOf: gate === undefined ? async () => WHOLE_PROJECT : rightsByGate(gate),
    nameInAudit: ({ principal, name }) => (gate === undefined ? name : principal),
  });
}

const WHOLE_PROJECT = { runs: "all", audit: "all", approves: true, replays: true, saves: true } as const;

/** The rights of people who log in: each has their own, and what the gate permits. */
function rightsByGate(gate: AccessGate): RightsOf {
  return async (viewer) => {
    const { approves = true, audits = false } = viewer;
    return {
      runs: "own",
      audit: audits ? "asked" : "own",
      approves,
      replays: true,
      saves: false,
      gate: (access, runId) => gate(identityOf(viewer), access, runId),
    };
  };
}
