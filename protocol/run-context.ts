/** How a program reached ptc. */
export const RUN_SOURCES = ["run", "serve", "replay", "call", "direct", "library"] as const;
type RunSource = (typeof RUN_SOURCES)[number];

/** On whose behalf a program runs. Policy, credentials, audit and archive use it. */
export interface RunContext {
  /** Who runs it: issuer, `#` and subject, or `local` for the one who started ptc on this machine. */
  readonly principal: string;
  /** What the principal is called, for people. Nothing is decided by it. */
  readonly name?: string;
  /** The groups that the principal's login says, beside those of the configuration. */
  readonly groups?: readonly string[];
  /**
   * Groups of the person whose token was used that the token itself does not have. What forbids something to them, and what limits them,
   * applies; what permits something to them does not.
   */
  readonly boundGroups?: readonly string[];
  /** Whether they came with a token that a person made for themself, which may have fewer groups than the person (`owns`). */
  readonly withOwnToken?: true;
  /** The toolsets to which it is narrowed: what is not in each of them is not there. */
  readonly toolsets?: readonly string[];
  readonly source: RunSource;
  /** Which conversation with a client it belongs to, where there is one. */
  readonly session?: string;
  /** The client's own name for its conversation, where it tells what it starts. It is a claim, and nothing is decided by it. */
  readonly clientSession?: string;
  /** The account and the machine that it runs with, as the system names them. Nothing is decided by it. */
  readonly actor?: Actor;
  /** The name that an MCP client gives itself, or the command of ptc. It is a claim, and nothing is decided by it. */
  readonly client?: Client;
  /** The OAuth client to which the login's token was given, as its issuer says. */
  readonly clientId?: string;
  /** The token with which the principal came, for the exchange that a server asks for. It is in memory alone. */
  readonly callerToken?: () => string;
}

/** Who somebody is to rules, limits and access: the principal, and the groups that count for it. */
export type Identified = Pick<
  RunContext,
  "principal" | "groups" | "boundGroups" | "withOwnToken" | "toolsets"
>;

type PossiblyIdentified = Pick<Identified, "principal"> & {
  readonly [Member in Exclude<keyof Identified, "principal">]?: Identified[Member] | undefined;
};

/** Of what somebody is, only what rules, limits and access go by. */
export function identityOf(of: PossiblyIdentified): Identified {
  const { principal, groups, boundGroups, withOwnToken, toolsets } = of;
  return {
    principal,
    ...(groups === undefined ? {} : { groups }),
    ...(boundGroups === undefined ? {} : { boundGroups }),
    ...(withOwnToken === undefined ? {} : { withOwnToken }),
    ...(toolsets === undefined ? {} : { toolsets }),
  };
}

/**
 * Whether a run, its output or its question is somebody's own. To a login everything of the same person is. To a token of a person's own
 * a run is not that had a group which the token does not have: what such a run has read is not for the token.
 */
export function owns(viewer: Identified, of: Identified): boolean {
  if (viewer.principal !== of.principal) return false;
  const { groups = [], withOwnToken } = viewer;
  if (withOwnToken !== true) return true;
  return (of.groups ?? []).every((group) => groups.includes(group));
}

/**
 * With what somebody continues a run of theirs: what is permitted to both who began it and who continues it, and bound by all that
 * binds either.
 */
export function continuing<T extends Identified>(given: T, began: Identified): T {
  const context = narrowed(given, began.toolsets ?? []);
  const key = (of: Identified) =>
    identityKey(identityOf({ ...of, withOwnToken: undefined, toolsets: undefined }));
  if (key(context) === key(began)) return context;
  const groups = (began.groups ?? []).filter((group) => context.groups?.includes(group));
  const all = [context, began].flatMap((each) => [...(each.groups ?? []), ...(each.boundGroups ?? [])]);
  const boundGroups = [...new Set(all)].filter((group) => !groups.includes(group));
  return { ...context, groups, boundGroups };
}

/**
 * Equal for those who are the same to what is kept between their requests: logins of one person, whose groups may change, and tokens of
 * their own that have the same groups.
 */
export function callerKey(caller: Identified): string {
  if (caller.withOwnToken === true) return identityKey(caller);
  const { principal, toolsets = [] } = caller;
  return toolsets.length === 0 ? principal : JSON.stringify([principal, toolsets]);
}

/**
 * Somebody as people are shown them: the principal, and beside it, as a claim, the name that the login says. Anybody can give
 * themselves any name, so that it never stands for the principal.
 */
export function describePrincipal({
  principal,
  name = principal,
}: {
  readonly principal: string;
  readonly name?: string | undefined;
}): string {
  return name === principal ? principal : `${principal} (named "${name}" by the login)`;
}

/** The way that an answer took, with the name that the login of who gave it says. */
export function wayOf(
  way: string,
  { principal, name = principal }: Pick<RunContext, "principal" | "name">,
): string {
  return name === principal ? way : `${way}, by a login that says "${name}"`;
}

/** Equal for those who are the same to every rule and limit, whatever the order of their groups. */
export function identityKey({
  principal,
  groups = [],
  boundGroups = [],
  withOwnToken,
  toolsets = [],
}: Identified): string {
  const bound = [...boundGroups].sort();
  const narrow = toolsets.length === 0 ? [] : [{ toolsets }];
  return JSON.stringify([
    principal,
    [...groups].sort(),
    bound,
    ...(withOwnToken ? ["token"] : []),
    ...narrow,
  ]);
}

/** Somebody who is given no more than what these toolsets have too. */
export function narrowed<T extends Identified>(of: T, toolsets: readonly string[]): T {
  if (toolsets.length === 0) return of;
  return { ...of, toolsets: [...new Set([...(of.toolsets ?? []), ...toolsets])].sort() };
}

/** Who uses ptc where: a principal such as `local` is the same for everybody, and this is not. */
export interface Actor {
  /** The name of the account; its number where the system has no name for it. */
  readonly user: string;
  /** Where the system has numbers for accounts. */
  readonly uid?: number;
  /** The name of the machine. */
  readonly host: string;
}

interface Client {
  readonly name: string;
  readonly version?: string;
}

/** Everybody who uses ptc on this machine, on the command line or over stdio, is the one who started it. */
export const LOCAL_PRINCIPAL = "local";

/** A part of a run whose time is measured. Parts may overlap: a sandbox starts while the program is bundled. */
export type RunPhase = "bundle" | "type_check" | "sandbox_wait" | "program";

/** Called when a part of a run begins. The returned function is called once, when that part has ended. Neither throws. */
export type OnPhase = (phase: RunPhase) => () => void;

/** Combines two listeners into one. */
export function bothPhases(a: OnPhase | undefined, b: OnPhase | undefined): OnPhase | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return (phase) => {
    const ends = [a(phase), b(phase)];
    return () => {
      for (const end of ends) end();
    };
  };
}

/** Does work as a part of a run, and reports its beginning and end to the listener, if any. */
export function duringPhase<T>(
  onPhase: OnPhase | undefined,
  phase: RunPhase,
  work: () => Promise<T>,
): Promise<T> {
  if (onPhase === undefined) return work();
  const end = onPhase(phase);
  return work().finally(end);
}
