import { orAborted } from "../base/waiting.ts";
import { EXTRACT_NAME, EXTRACT_SERVER, EXTRACT_TOOL, parseNamespacedName } from "../protocol/tool-names.ts";
import type { TraceContext } from "../protocol/trace-context.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { CallDispatcher, CallingRun } from "./dispatcher.ts";

/** Answers one call. */
type Dispatch = CallDispatcher["dispatch"];

/**
 * Wraps every call of one run. It receives the function that answers calls, and returns one that replaces it: it may look at a call
 * and its outcome, change what is passed on, answer by itself, or call `next` again. Like `next`, it throws only for faults of the
 * host.
 */
export type CallInterceptor = (next: Dispatch) => Dispatch;

/**
 * Wraps a dispatcher in interceptors. The first of the list is the outermost: it sees a call first and its outcome last.
 * `execution/interceptors.ts` has the list of a run.
 */
export function interceptCalls(
  dispatcher: CallDispatcher,
  interceptors: readonly (CallInterceptor | undefined)[],
): CallDispatcher {
  const innermost: Dispatch = (call, run) => dispatcher.dispatch(call, run);
  const dispatch = interceptors.reduceRight((next, interceptor) => interceptor?.(next) ?? next, innermost);
  return { dispatch };
}

/** Passes the caller's trace context on to servers, for runs without a trace of their own. */
export function passTraceOn(trace: TraceContext): CallInterceptor {
  return (next) => (call, run) => next(call, { ...run, meta: { ...run.meta, ...trace } });
}

/** Makes the first call wait for `announce`, and all other calls with it. */
export function announceFirstCall(announce: () => Promise<void>): CallInterceptor {
  let announced: Promise<void> | undefined;
  return (next) => async (call, run) => {
    announced ??= announce();
    await announced;
    return next(call, run);
  };
}

/** A login that waits for a person. */
interface OfferedLogin {
  readonly url: string;
  /** Resolves when the person has logged in. */
  readonly done: Promise<void>;
  cancel(reason: string): void;
}

/** Starts the login at a server; resolves with `undefined` if it has none. @throws UpstreamError */
export type StartLogin = (server: string, signal: AbortSignal) => Promise<OfferedLogin | undefined>;

const LOGIN_MESSAGE = "ptc waits for you to log in, so that programs can use this server.";

/**
 * Offers a login where a call needs one and the person's client shows addresses, and makes the call again, once. A call that
 * needs a login was not carried out. Calls that need the same login share it. A person is asked once in a run for each server.
 * Where nobody has logged in, the program learns where that is done.
 */
export function offerLogins(start: StartLogin, addressOf?: LoginAddress): CallInterceptor {
  const logins = new Map<string, Promise<boolean>>();
  return (next) => async (call, run) => {
    const outcome = await next(call, run);
    if (outcome.ok || outcome.loginAt === undefined) return outcome;
    const server = outcome.loginAt;
    if (run.approvals.canVisit) {
      const login = logins.get(server) ?? logIn(server, call.tool, run, start);
      logins.set(server, login);
      if (await login) return next(call, run);
    }
    const url = await addressOf?.(server, run.signal);
    if (url === undefined) return outcome;
    const message = `server '${server}' needs a login: its user opens ${url} in a browser within 10 minutes and logs in there; then run the program again`;
    return { ...outcome, error: { ...outcome.error, message } };
  };
}

/**
 * Where a person who is not at this machine logs in at a server; `undefined` where that is done on the machine. Never rejects.
 */
export type LoginAddress = (server: string, signal: AbortSignal) => Promise<string | undefined>;

async function logIn(
  server: string,
  tool: string,
  { approvals, signal }: CallingRun,
  start: StartLogin,
): Promise<boolean> {
  let login: OfferedLogin | undefined;
  try {
    login = await start(server, signal);
    if (login === undefined) return false;
    const { url, done } = login;
    const asked = {
      mode: "url",
      message: LOGIN_MESSAGE,
      url,
      host: new URL(url).host,
      server,
      tool,
    } as const;
    const { action } = await approvals.elicit({ ...asked, visited: done }, signal);
    if (action !== "accept") return false;
    await orAborted(done, signal, () => new UpstreamError("cancelled", "the run has ended"));
    return true;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return false;
  } finally {
    login?.cancel("nobody waits for it");
  }
}

/**
 * Refuses calls of the model beyond the number that a run may make.
 *
 * @param made how many the run made before it was suspended.
 */
export function limitExtracts(maxCalls: number, made: number): CallInterceptor {
  let calls = made;
  return (next) => async (call, run) => {
    if (call.tool !== EXTRACT_NAME || ++calls <= maxCalls) return next(call, run);
    const message = `'${EXTRACT_NAME}' was not called: a run may make ${maxCalls} calls of extract; give it several texts at once`;
    return {
      ok: false,
      error: { type: "ToolError", server: EXTRACT_SERVER, tool: EXTRACT_TOOL, message, retryable: false },
      decision: "forbidden",
      rule: `extract.max_calls: ${maxCalls}`,
      bytes: 0,
    };
  };
}

/** The remaining allowance of a run's principal, which its calls use up. */
export interface CallAllowance {
  /** Takes one call. If none is left, resolves with one line that says so and when there will be more. Never rejects. */
  takeCall(): Promise<string | undefined>;
  /** Counts the size of a call's answer. */
  useBytes(bytes: number): void;
}

/** Refuses calls beyond the remaining allowance of a run's principal. */
export function limitUse(allowance: CallAllowance): CallInterceptor {
  return (next) => async (call, run) => {
    const refusal = await allowance.takeCall();
    if (refusal === undefined) {
      const outcome = await next(call, run);
      allowance.useBytes(outcome.bytes);
      return outcome;
    }
    const { module: server = "", tool = call.tool } = parseNamespacedName(call.tool) ?? {};
    const message = `'${call.tool}' was not called: ${refusal}`;
    return {
      ok: false,
      error: { type: "ToolError", server, tool, message, retryable: true },
      decision: "forbidden",
      rule: "limits",
      bytes: 0,
    };
  };
}
