import type { RunContext } from "../protocol/run-context.ts";
import { localActor, localPrincipal } from "../system/local-actor.ts";

/** The principal of every command: the user who starts ptc on this machine. */
export const LOCAL_USER: { readonly principal: string } = { principal: localPrincipal() };

/** The longest conversation id that is accepted from a client. Claude Code uses UUIDs. */
const MAX_SESSION_CHARS = 128;

/**
 * The client's id of the conversation in which a command was started. Claude Code passes it in `CLAUDE_CODE_SESSION_ID` to the
 * servers, hooks and commands that it starts. Invalid ids are ignored.
 */
export function clientSessionOf(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const name = env.CLAUDE_CODE_SESSION_ID ?? "";
  return name.length <= MAX_SESSION_CHARS && /^[\w.:-]+$/.test(name) ? name : undefined;
}

/** The context of a command's programs: the principal, the source, and the client's conversation. */
export function localContext(
  source: RunContext["source"],
  env: Readonly<Record<string, string | undefined>>,
): RunContext {
  const clientSession = clientSessionOf(env);
  return {
    ...LOCAL_USER,
    source,
    actor: localActor(),
    // A client of `ptc serve` states its own name.
    ...(source === "serve" ? {} : { client: { name: `ptc ${source}` } }),
    ...(clientSession !== undefined && { clientSession }),
  };
}

/** The system's name for the user of this machine. */
export function localUserName(): string {
  return localActor().user;
}
