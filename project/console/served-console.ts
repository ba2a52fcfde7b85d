/** The console of a host that serves many: each who logs in at an issuer sees their own, and what rules permit. */
import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import { clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import type { AccessGate } from "../../broker/policy/authorizer.ts";
import type { Configuration, Scope } from "../../configuration/configuration.ts";
import { Console } from "../../console/console.ts";
import { OneTimeAddress, PeopleLogin } from "../../console/entrance.ts";
import { answerBy } from "../../console/serve-console.ts";
import { BASE } from "../../console/shell.ts";
import type { Viewer } from "../../console/viewer.ts";
import { isRefusal } from "../../identity/caller.ts";
import { callerOf } from "../../identity/claims.ts";
import { browserIssuers } from "../../identity/identity.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { loginStatus } from "../../logins/logins.ts";
import { openPasskeyStore, Passkeys } from "../../logins/passkeys.ts";
import { KeyList, SEALING_KEY_BYTES, type Sealer } from "../../secrets/sealing.ts";
import { openAudit } from "../../storage/storage.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import type { Host } from "../host.ts";
import { LOCAL_USER, localContext, localUserName } from "../local-user.ts";
import { auditPath } from "../open-audit.ts";
import { saveForConsole } from "../programs/save-program.ts";
import { callForConsole } from "./call.ts";
import { sessionsOfHost, tokensForConsole } from "./me.ts";
import { testForConsole } from "./programs.ts";
import { replayForConsole } from "./replay.ts";
import { checkForConsole, connectForConsole, disconnectForConsole } from "./servers.ts";

interface Options {
  env: EnvironmentVariables;
  onWarning: (message: string) => void;
}

/**
 * Where nobody is asked who they are, which is on loopback alone, the console opens by a one-time address for whoever started ptc.
 *
 * @param sealer seals sessions of people, with the same keys in every process that shares the storage.
 */
export function openConsoleOfHost(
  { host, gate }: { host: Host; gate: AccessGate },
  sealer: () => Promise<Sealer>,
  { env, onWarning }: Options,
) {
  const now = () => Math.round(clock.wallMs());
  const own = new KeyList([randomBytes(SEALING_KEY_BYTES)]);
  const isOpen = host.configuration.http.auth === undefined;
  const address = new OneTimeAddress({ ...LOCAL_USER, name: localUserName() }, now);
  let opened: { console: Console; origin: string } | undefined;
  const open = (url: URL) => {
    const { origin } = url;
    const console = new Console({
      project: basename(host.configuration.directory),
      origin,
      configuration: () => host.configuration,
      archive: host.archive,
      pending: () => host.pendingApprovals(),
      audit: openAudit(host.configuration, env, auditPath(host.configuration)),
      tools: () => host.currentTools(),
      printers: () => loadPrinters(host.configuration.languages),
      replay: (viewer, runId, signal) => replayForConsole(host, host.archive, viewer, runId, signal),
      logins: ({ principal }) =>
        loginStatus(host.configuration, principal, env).catch((error: unknown) => {
          onWarning(messageOf(error));
          return undefined;
        }),
      test: ({ principal, groups }, name, signal) =>
        testForConsole(host, { principal, ...(groups === undefined ? {} : { groups }) }, name, signal),
      connect: ({ principal }, server, signal) => connectForConsole(host, principal, server, signal),
      disconnect: ({ principal }, server) => disconnectForConsole(host, principal, server, env),
      check: ({ principal }, signal) => checkForConsole(host, principal, signal),
      tokens: tokensForConsole(() => host.configuration, env),
      sessions: ({ principal }) => sessionsOfHost(host.sessions(principal)),
      call: ({ principal, name, groups }, call, signal) => {
        const person = { principal, name, ...(groups === undefined ? {} : { groups }) };
        const context = isOpen ? localContext("call", env) : { ...person, source: "call" as const };
        return callForConsole(host, { ...context, client: { name: "ptc console" } }, call, signal);
      },
      save: (asked) => saveForConsole(host, host.archive, asked),
      follow: (watcher) => host.runs.watch(watcher),
      passkeys: new Passkeys({
        store: openPasskeyStore(env, host.configuration),
        ...{ origin, now },
        sealer: isOpen ? async () => own : sealer,
        onChange: (change) => host.auditLogin(change),
      }),
      entrance: isOpen
        ? address
        : new PeopleLogin({
            issuers: () => browserIssuers(host.configuration, env),
            viewerOf: (issuer, claims) => viewerOf(host.configuration, issuer, claims),
            ...{ origin, now },
          }),
      rightsOf: async ({ principal, groups, approves = true, audits = false }) =>
        isOpen
          ? { runs: "all", audit: "all", approves: true, replays: true, saves: true }
          : {
              ...{ runs: "own", audit: audits ? "asked" : "own", approves, replays: true, saves: false },
              gate: (access, runId) =>
                gate({ principal, ...(groups === undefined ? {} : { groups }) }, access, runId),
            },
      nameInAudit: ({ principal, name }) => (isOpen ? name : principal),
      sealer: isOpen ? async () => own : sealer,
      now,
      onWarning,
    });
    opened = { console, origin };
    return answerBy(console);
  };
  return {
    path: BASE,
    open,
    /** Says where the console is, in one line. */
    where(): string {
      const origin = opened?.origin ?? "";
      return isOpen
        ? `the console opens once at ${address.make(origin)}`
        : `the console is at ${origin}${BASE}/`;
    },
    close: () => opened?.console.close(),
  };
}

/**
 * Who logs in with a browser. A person is no client that was granted less than they have, so that scopes count only where `scopes`
 * says which people have them.
 */
function viewerOf(
  { http }: Pick<Configuration, "http">,
  issuer: string,
  claims: Readonly<Record<string, unknown>>,
): Viewer | { why: string } {
  const settings = http.auth?.issuers.find((each) => each.issuer === issuer);
  if (settings === undefined) return { why: "This issuer does not count here any more." };
  const caller = callerOf(claims, settings);
  if (isRefusal(caller)) return { why: "Your issuer does not say who you are." };
  const { principal, name = principal, groups } = caller.context;
  const has = (scope: Scope) => settings.scopes[scope] === undefined || caller.scopes.has(scope);
  if (!has("ptc:run"))
    return { why: "Nothing runs here for you: you do not have what http.auth asks of people for ptc:run." };
  return { ...{ principal, name, groups }, approves: has("ptc:approve"), audits: has("ptc:admin") };
}
