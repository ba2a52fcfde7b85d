/** The console of a host that serves many: each who logs in at an issuer sees their own, and what rules permit. */
import { randomBytes } from "node:crypto";
import { clock } from "../../base/clock.ts";
import type { AccessGate } from "../../broker/policy/authorizer.ts";
import type { Configuration, Scope } from "../../configuration/configuration.ts";
import type { Console } from "../../console/console.ts";
import { OneTimeAddress, PeopleLogin } from "../../console/entrance.ts";
import { answerBy } from "../../console/serve-console.ts";
import { BASE } from "../../console/shell.ts";
import type { Viewer } from "../../console/viewer.ts";
import { isRefusal } from "../../identity/caller.ts";
import { callerOf } from "../../identity/claims.ts";
import { browserIssuers } from "../../identity/identity.ts";
import { KeyList, SEALING_KEY_BYTES, type Sealer } from "../../secrets/sealing.ts";
import type { Host } from "../host.ts";
import { LOCAL_USER, localUserName } from "../local-user.ts";
import { openConsole } from "./console.ts";
import { sessionsOfHost } from "./me.ts";

/**
 * Where nobody is asked who they are, which is on loopback alone, the console opens by a one-time address for whoever started ptc.
 *
 * @param sealer seals sessions of people, with the same keys in every process that shares the storage.
 */
export function openConsoleOfHost(
  { host, gate }: { host: Host; gate: AccessGate },
  sealer: () => Promise<Sealer>,
) {
  const { project } = host;
  const now = () => Math.round(clock.wallMs());
  const own = new KeyList([randomBytes(SEALING_KEY_BYTES)]);
  const isOpen = project.configuration.http.auth === undefined;
  const address = new OneTimeAddress({ ...LOCAL_USER, name: localUserName() }, now);
  let opened: { console: Console; origin: string } | undefined;
  const open = (url: URL) => {
    const { origin } = url;
    const console = openConsole(project, {
      origin,
      now,
      host: async () => host,
      tools: () => host.currentTools(),
      sessions: ({ principal }) => sessionsOfHost(host.sessions(principal)),
      follow: (watcher) => host.runs.watch(watcher),
      onPasskey: () => {},
      ...(isOpen
        ? { sealer: async () => own, entrance: address }
        : {
            sealer,
            gate,
            entrance: new PeopleLogin({
              issuers: () => browserIssuers(project.configuration, project.env),
              viewerOf: (issuer, claims) => viewerOf(project.configuration, issuer, claims),
              origin,
              now,
            }),
          }),
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
  if (settings === undefined) return { why: "The configuration no longer has this issuer." };
  const caller = callerOf(claims, settings);
  if (isRefusal(caller)) return { why: "Your issuer does not say who you are." };
  const { principal, name = principal, groups } = caller.context;
  const has = (scope: Scope) => settings.scopes[scope] === undefined || caller.scopes.has(scope);
  if (!has("ptc:run"))
    return { why: "Nothing runs here for you: you do not have what http.auth asks of people for ptc:run." };
  return { principal, name, groups, approves: has("ptc:approve"), audits: has("ptc:admin") };
}
