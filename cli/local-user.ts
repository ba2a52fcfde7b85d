import type { RunContext } from "../protocol/run-context.ts";
import { localActor, localPrincipal } from "../system/local-actor.ts";

/** On whose behalf every command works: the user who starts ptc on this machine. */
export const LOCAL_USER: { readonly principal: string } = { principal: localPrincipal() };

/** The longest name of a conversation that is taken from a client. Claude Code's are UUIDs. */
const MAX_SESSION_CHARS = 128;

/**
 * The client's name for the conversation in which a command was started. Claude Code gives it to servers, hooks and commands
 * that it starts, in `CLAUDE_CODE_SESSION_ID`. Anything else is ignored.
 */
export function clientSessionOf(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const name = env.CLAUDE_CODE_SESSION_ID ?? "";
  return name.length <= MAX_SESSION_CHARS && /^[\w.:-]+$/.test(name) ? name : undefined;
}

/** For whom a command runs programs, through what, and in which conversation of a client. */
export function localContext(
  source: RunContext["source"],
  env: Readonly<Record<string, string | undefined>>,
): RunContext {
  const clientSession = clientSessionOf(env);
  return {
    ...LOCAL_USER,
    source,
    actor: localActor(),
    // A client of `ptc serve` says itself what it is.
    ...(source === "serve" ? {} : { client: { name: `ptc ${source}` } }),
    ...(clientSession !== undefined && { clientSession }),
  };
}

/** The name that the system has for the user at this machine. */
export function localUserName(): string {
  return localActor().user;
}
