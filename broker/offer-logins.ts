import { orAborted } from "../base/waiting.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { CallDispatcher, CallingRun } from "./dispatcher.ts";

/** A login that waits for a person. */
interface OfferedLogin {
  readonly url: string;
  /** Resolves when the person has logged in. */
  readonly done: Promise<void>;
  cancel(reason: string): void;
}

/** Begins the login at a server; `undefined` when it has none. @throws UpstreamError */
export type BeginLogin = (server: string, signal: AbortSignal) => Promise<OfferedLogin | undefined>;

const MESSAGE = "ptc waits for you to log in, so that programs can use this server.";

/**
 * Has a person log in where a call needs it and their client shows addresses, and makes the call again, once. A call that needs
 * a login was not carried out. Calls that need the same login share it; who was asked once in a run is not asked again.
 */
export function offerLogins(inner: CallDispatcher, begin: BeginLogin): CallDispatcher {
  const logins = new Map<string, Promise<boolean>>();
  return {
    async dispatch(call, run) {
      const outcome = await inner.dispatch(call, run);
      if (outcome.ok || outcome.loginAt === undefined || !run.approvals.canVisit) return outcome;
      const server = outcome.loginAt;
      const login = logins.get(server) ?? logIn(server, call.tool, run, begin);
      logins.set(server, login);
      return (await login) ? inner.dispatch(call, run) : outcome;
    },
  };
}

async function logIn(
  server: string,
  tool: string,
  { approvals, signal }: CallingRun,
  begin: BeginLogin,
): Promise<boolean> {
  let login: OfferedLogin | undefined;
  try {
    login = await begin(server, signal);
    if (login === undefined) return false;
    const { url, done } = login;
    const asked = { mode: "url", message: MESSAGE, url, host: new URL(url).host, server, tool } as const;
    const { action } = await approvals.elicit({ ...asked, visited: done }, signal);
    if (action !== "accept") return false;
    await orAborted(done, signal, () => new UpstreamError("cancelled", "the run has ended"));
    return true;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return false;
  } finally {
    login?.cancel("nobody waits for it any more");
  }
}
