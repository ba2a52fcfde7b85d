import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { clock } from "../base/clock.ts";
import { messageOf } from "../base/faults.ts";
import type { Configuration, RemoteServer } from "../configuration/configuration.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { AuthorizationError, type OnLogin } from "../upstream/authorization/authorization.ts";
import { askForChallenge } from "../upstream/authorization/authorized-fetch.ts";
import { tellingSecrets } from "../upstream/authorization/credentials.ts";
import type { Login, LoginKey } from "../upstream/authorization/login-store.ts";
import type { BegunLogin } from "../upstream/authorization/oauth/person-login.ts";
import { type LoginSecrets, ownLoginSecrets, readAuthSecret } from "../upstream/secret-sources.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { faultOf, loginKeyOf, openLoginStore } from "./logins.ts";
import { serverCredentials } from "./server-credentials.ts";

/** A login that waits for a person to open an address. */
export interface WaitingLogin {
  /** The address to open. */
  readonly url: string;
  /** The authorization server at that address. */
  readonly issuer: string;
  /** The address on this machine to which the login redirects the browser. */
  readonly redirectUri: string;
  /** Resolves when the login is stored. @throws UpstreamError if it failed or was cancelled. */
  readonly done: Promise<void>;
  /**
   * Completes the login with the final address of a browser on another machine; `done` settles accordingly. For any other address,
   * returns what is wrong with it.
   */
  paste(address: string): string | undefined;
  /** Cancels the login. ptc stores nothing of it. */
  cancel(reason: string): void;
}

export interface BeginOptions {
  env: EnvironmentVariables;
  /** The configuration with the storage of logins. If absent, ptc keeps them for this user alone. */
  configuration?: Partial<Pick<Configuration, "storage">> | undefined;
  /** By default `ownLoginSecrets`. */
  secrets?: LoginSecrets;
  signal?: AbortSignal;
  /** Called when the login is complete, or has failed. */
  onLogin?: OnLogin | undefined;
}

/**
 * Begins the login of a principal at a server. `undefined` if the server asks for none.
 *
 * @throws UpstreamError if no trustworthy login is possible.
 */
export async function beginLogin(
  server: RemoteServer,
  principal: string,
  { env, configuration, secrets = ownLoginSecrets(env), signal, onLogin }: BeginOptions,
): Promise<WaitingLogin | undefined> {
  const { auth: configured } = server;
  if (configured?.type !== "oauth") return undefined;
  const store = openLoginStore(env, configuration);
  const key = loginKeyOf(principal, server);
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  done.catch(() => {});
  let begun: BegunLogin | undefined;
  /** A code is valid once: of two redirects with one, the first counts. */
  let isAnswered = false;

  const answer = async (query: URLSearchParams): Promise<Answered> => {
    if (begun === undefined || isAnswered || !begun.isAnsweredBy(query)) return "foreign";
    isAnswered = true;
    try {
      const login = await begun.complete(query);
      await store.withLock(key, () => store.write(key, login));
      resolve();
      return "good";
    } catch (error) {
      reject(isLoginFault(error) ? faultOf(server.name, error) : error);
      return "bad";
    }
  };

  try {
    const previous = await store.read(key).catch(() => undefined);
    const { callbackHost, callbackPort: port } = configured;
    const usual = portOf(previous?.client.redirectUri);
    const listener = await listenForCallback(port ?? usual, callbackHost, answer).catch((error: unknown) => {
      if (port !== undefined || usual === undefined) throw error;
      return listenForCallback(undefined, callbackHost, answer);
    });
    const { redirectUri } = listener;
    try {
      begun = await prepareLogin(server, { key, secrets, redirectUri, previous, signal });
    } catch (error) {
      listener.close();
      throw error;
    }
    if (begun === undefined) {
      listener.close();
      return undefined;
    }
    const { url, issuer } = begun;
    const cancel = (reason: string) => {
      isAnswered = true;
      reject(new UpstreamError("cancelled", `server '${server.name}' was not logged in to: ${reason}`));
    };
    const onAbort = () => cancel("it was cancelled");
    signal?.addEventListener("abort", onAbort, { once: true });
    const end = () => {
      signal?.removeEventListener("abort", onAbort);
      listener.close();
    };
    done.then(end, end);
    const tell = (event: "logged_in" | "failed", reason?: string) =>
      onLogin?.({ principal, server: server.name, event, reason });
    done.then(
      () => tell("logged_in"),
      (error: unknown) => tell("failed", messageOf(error)),
    );
    const paste = (address: string) => {
      const query = queryOf(address);
      if (!query.has("state")) return "that is not the address that the browser ended up at; paste all of it";
      if (begun?.isAnsweredBy(query) !== true) return "that address belongs to another login";
      void answer(query);
      return undefined;
    };
    return { url: url.href, issuer, redirectUri, done, paste, cancel };
  } catch (error) {
    throw faultOf(server.name, error);
  }
}

/**
 * Finds the authorization server at which a person logs in for a server, and registers ptc there if necessary. `undefined` if the
 * server answers without a login.
 *
 * @throws UpstreamError, AuthorizationError when no login is possible, or none that can be trusted.
 */
export async function prepareLogin(
  server: RemoteServer,
  {
    key,
    secrets,
    redirectUri,
    previous,
    signal,
  }: {
    key: LoginKey;
    secrets: LoginSecrets;
    redirectUri: string;
    /** The previous login. */
    previous: Login | undefined;
    signal?: AbortSignal | undefined;
  },
): Promise<BegunLogin | undefined> {
  const { auth: configured } = server;
  if (configured?.type !== "oauth") return undefined;
  const ready = signal ?? new AbortController().signal;
  const [headers, clientSecret] = await Promise.all([
    readHeaders(server, key.principal, secrets, ready),
    readAuthSecret(configured.clientSecret, secrets, ready),
  ]);
  const settings = { ...configured, clientSecret };
  const challenge = await askForChallenge({ ...server, headers }, signal);
  const { beginPersonLogin } = await import("../upstream/authorization/oauth/person-login.ts");
  const begun = await beginPersonLogin({ key, settings, challenge, redirectUri, previous, clock, signal });
  if (begun === undefined && challenge !== undefined)
    throw new AuthorizationError(
      "refuses requests without a token, and names no authorization server where one could log in; put a token into its `headers`, or " +
        "name the `issuer` under its `auth` in ptc.yaml",
    );
  return begun;
}

/** The headers of requests without a token. @throws UpstreamError */
async function readHeaders(
  server: RemoteServer,
  principal: string,
  { sources, onSecret }: LoginSecrets,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const credentials = tellingSecrets(serverCredentials([server], sources), onSecret);
  return (await credentials.credentialsFor(principal, server.name, signal)).values;
}

function isLoginFault(error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof AuthorizationError;
}

function portOf(redirectUri: string | undefined): number | undefined {
  return redirectUri !== undefined && URL.canParse(redirectUri)
    ? Number(new URL(redirectUri).port) || undefined
    : undefined;
}

function queryOf(address: string): URLSearchParams {
  const text = address.trim();
  return URL.canParse(text) ? new URL(text).searchParams : new URLSearchParams(text.replace(/^.*\?/, ""));
}

/** Only this machine can reach it (RFC 8252, section 7.3). */
const HOST = "127.0.0.1";
const PATH = "/callback";
const MAX_HEADER_BYTES = 32 * 1024;

/** The outcome of a redirect: whether it belongs to the login in progress, and if so, whether that succeeded. */
type Answered = "foreign" | "good" | "bad";

export interface CallbackListener {
  /** The address to which the login redirects the browser. */
  readonly redirectUri: string;
  close(): void;
}

/**
 * Waits on this machine for the browser to come back from a login.
 *
 * @param port the port with which the client is registered; by default a free one.
 * @param name the host name of the redirect. ptc listens on 127.0.0.1, which browsers try for every such name.
 * @param answer receives the query of each redirect.
 * @throws AuthorizationError if the port is in use.
 */
export async function listenForCallback(
  port: number | undefined,
  name: "127.0.0.1" | "localhost",
  answer: (query: URLSearchParams) => Promise<Answered>,
): Promise<CallbackListener> {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
    request.resume();
    // Anything on this machine can send a request here. Its target is split by hand, because a URL parser throws for some.
    const [path, ...query] = (request.url ?? "").split("?");
    if (request.method !== "GET" || path !== PATH) return reply(response, 404, "There is nothing here.");
    answer(new URLSearchParams(query.join("?"))).then(
      (answered) => reply(response, ...PAGES[answered]),
      () => reply(response, ...PAGES.bad),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const advice = port === undefined ? "" : "; end what uses it, or change callback_port in ptc.yaml";
      reject(
        new AuthorizationError(
          `cannot be logged in to: port ${port ?? "(any)"} cannot be listened on (${error.code})${advice}`,
        ),
      );
    });
    server.listen({ host: HOST, port: port ?? 0, exclusive: true }, resolve);
  });
  server.on("error", () => {});
  const { port: own } = server.address() as AddressInfo;
  return { redirectUri: `http://${name}:${own}${PATH}`, close: () => end(server) };
}

const PAGES: Readonly<Record<Answered, [status: number, text: string]>> = {
  good: [200, "ptc is logged in. You can close this page."],
  bad: [
    400,
    "ptc could not log in. The reason is in the terminal where the login began. You can close this page.",
  ],
  foreign: [400, "This does not belong to the login that ptc is waiting for."],
};

function reply(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'",
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`<!doctype html><meta charset="utf-8"><title>ptc</title><p>${text}</p>\n`);
}

/** Waits until open responses are sent. */
function end(server: Server): void {
  server.close();
  server.closeIdleConnections();
}
