/** What people have of ptc beside their runs, for the console: tokens, and sessions in which programs run. */

import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { KnownSession, KnownSessions, KnownTokens } from "../../console/parts.ts";
import type { OpenSessions, SessionStatus } from "../../execution/sessions/kept-session.ts";
import { projectOf } from "../../execution/sessions/open-sessions.ts";
import { findSessions } from "../../execution/sessions/sessions-socket.ts";
import { principalOfToken } from "../../identity/caller.ts";
import { Tokens } from "../../identity/tokens.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";

const MAX_WHY_CHARS = 1_000;

/** Does some work. Resolves with why it cannot be done instead of rejecting. */
async function orWhy<T>(work: () => Promise<T>): Promise<T | { why: string }> {
  try {
    return await work();
  } catch (error) {
    return { why: oneLine(messageOf(error), MAX_WHY_CHARS) };
  }
}

/** The tokens of a project (`ptc token`). */
export function tokensForConsole(configuration: () => Configuration, env: EnvironmentVariables): KnownTokens {
  const open = () => Tokens.open(configuration(), env);
  return {
    counts: () => configuration().http.auth?.tokens === true,
    list: () =>
      orWhy(async () =>
        (await open().list()).map(({ name, owner, groups, scopes, created_at, expires_at }) => ({
          name,
          owner,
          principal: owner ?? principalOfToken(name),
          groups,
          scopes,
          createdAt: created_at,
          expiresAt: expires_at,
        })),
      ),
    create: (name, wanted) => orWhy(async () => ({ token: await open().create(name, wanted) })),
    learnGroups: async (owner, groups) => {
      // Who cannot keep them is told where a token is made or used.
      await open()
        .learnGroups(owner, groups)
        .catch(() => {});
    },
    revoke: (name, owner) =>
      orWhy(async () => {
        await open().revoke(name, owner);
        return undefined;
      }),
  };
}

/** The sessions that a host keeps for a principal. */
export function sessionsOfHost(sessions: OpenSessions): KnownSessions {
  return {
    list: () => orWhy(async () => (await sessions.list()).map((each) => known(each.name, each))),
    end: (id) => sessions.end(id).catch(() => false),
  };
}

/** The sessions of this user and project in all processes. */
export function sessionsOfUser(configuration: Configuration, env: EnvironmentVariables): KnownSessions {
  const open = () => findSessions(projectOf(configuration), env);
  const idOf = ({ pid, name }: { pid: number; name: string }) => `${pid} ${name}`;
  return {
    list: () => orWhy(async () => (await open()).sessions.map((each) => known(idOf(each), each))),
    async end(id) {
      const { sessions, end } = await open();
      const found = sessions.find((each) => idOf(each) === id);
      return found !== undefined && end(found);
    },
  };
}

function known(
  id: string,
  {
    name,
    language,
    programs,
    started,
    idle_since: idle,
  }: Omit<SessionStatus, "through" | "idle_since"> & { idle_since?: string | undefined },
): KnownSession {
  return {
    id,
    name,
    language,
    programs,
    startedAt: Date.parse(started),
    ...(idle === undefined ? {} : { idleSince: Date.parse(idle) }),
  };
}
