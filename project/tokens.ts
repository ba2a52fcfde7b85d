/** Tokens for agents that no issuer knows, which `ptc serve --http` takes. */

import { visibleLine } from "../base/visible-text.ts";
import type { Configuration, Scope } from "../configuration/configuration.ts";
import { SCOPES } from "../configuration/settings/http-settings.ts";
import { principalOfToken } from "../identity/caller.ts";
import { TokenError, Tokens } from "../identity/tokens.ts";
import { LockError } from "../system/lock-file.ts";
import type { Project } from "./open-project.ts";
import { Refusal } from "./refusal.ts";

/** What is known of a token, without the token. Times are in milliseconds since 1970. */
export interface KnownToken {
  name: string;
  principal: string;
  /** The person who made it in the console; `null` if nobody did. */
  owner: string | null;
  groups: readonly string[];
  scopes: readonly Scope[];
  /** The toolsets to which it is narrowed; none if it is not. */
  toolsets: readonly string[];
  createdAt: number;
  expiresAt: number;
}

/**
 * Makes a token, which nothing can show again.
 *
 * @param expiresAt in milliseconds since 1970.
 * @returns the token, and the principal of its runs.
 * @throws Refusal for a name that is taken or is none; ArchiveError
 */
export async function createToken(
  project: Project,
  name: string,
  rights: { groups: string[]; scopes: Scope[]; expiresAt: number; toolsets?: string[] },
): Promise<{ token: string; principal: string }> {
  for (const toolset of rights.toolsets ?? [])
    refuseUnknownToolset("--toolset", toolset, project.configuration);
  const token = await asked(() => tokensOf(project).create(name, rights));
  return { token, principal: principalOfToken(name) };
}

/** The tokens of a project. @throws Refusal, ArchiveError */
export async function listTokens(project: Project): Promise<KnownToken[]> {
  const kept = await asked(() => tokensOf(project).list());
  return kept.map(({ name, owner, groups, scopes, toolsets = [], created_at, expires_at }) => ({
    name,
    principal: owner ?? principalOfToken(name),
    owner: owner ?? null,
    groups,
    scopes,
    toolsets,
    createdAt: created_at,
    expiresAt: expires_at,
  }));
}

/** Ends a token. @param owner who made it in the console. @throws Refusal if there is none; ArchiveError */
export function revokeToken(project: Project, name: string, owner: string | undefined): Promise<void> {
  return asked(() => tokensOf(project).revoke(name, owner));
}

/** The scopes that a token may have, as a list for people. */
export const KNOWN_SCOPES = SCOPES.join(", ");

/** The scopes that a user gives for a token; `ptc:run` where none is given. @throws Refusal */
export function parseScopes(flag: string, given: readonly string[]): Scope[] {
  if (given.length === 0) return ["ptc:run"];
  const wrong = given.find((each) => !SCOPES.some((scope) => scope === each));
  if (wrong !== undefined)
    throw new Refusal(`${flag}: '${visibleLine(wrong)}' is not one of ${KNOWN_SCOPES}`);
  return SCOPES.filter((scope) => given.includes(scope));
}

/** @throws Refusal that names the toolsets that there are. */
export function refuseUnknownToolset(
  flag: string,
  name: string,
  { toolsets }: Pick<Configuration, "toolsets">,
): void {
  if (Object.hasOwn(toolsets, name)) return;
  const known = Object.keys(toolsets);
  const there = known.length === 0 ? "ptc.yaml has no `toolsets`" : `there are ${known.join(", ")}`;
  throw new Refusal(`${flag}: there is no toolset '${visibleLine(name)}'; ${there}`);
}

function tokensOf({ configuration, env }: Project): Tokens {
  return Tokens.open(configuration, env);
}

/** Does some work with tokens, whose refusals are for the user. @throws Refusal */
async function asked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TokenError || error instanceof LockError) throw new Refusal(error.message);
    throw error;
  }
}
