import { readdirSync, readFileSync } from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { BlockList, isIP, type LookupFunction, type Socket } from "node:net";
import { join } from "node:path";
import * as tls from "node:tls";
import type { Dispatcher } from "undici";

/**
 * Makes ptc's own connections to other machines. They use the proxies and certificate authorities that the usual environment
 * variables name:
 *
 * - `https_proxy`, `http_proxy` and `all_proxy`, in lower or upper case. Lower case wins, as in curl. A proxy speaks HTTP:
 *   `https:` goes through a tunnel (CONNECT), and `http:` as a request with the whole address.
 * - `no_proxy`: names including their subdomains, addresses, and ranges of addresses, each with or without a port, or `*`. ptc
 *   never reaches this machine through a proxy, as in Go: another machine's proxy cannot reach it, and a proxy should not see
 *   what is sent to a local server.
 * - `SSL_CERT_FILE` and `SSL_CERT_DIR`: authorities in addition to those of Node.js, which include `NODE_EXTRA_CA_CERTS`.
 *
 * If none of these concerns an address, ptc loads no proxy code.
 */

type Environment = Readonly<Record<string, string | undefined>>;

/** A proxy variable does not name a proxy. The message omits the value, because it may contain a password. */
export class ProxyError extends Error {
  override readonly name = "ProxyError";
}

/**
 * The proxy for a URL, or `undefined` if there is none.
 *
 * @throws ProxyError
 */
export function proxyFor(url: URL, env: Environment = process.env): URL | undefined {
  if (isHere(hostOf(url)) || isExcepted(url, settingOf("no_proxy", env) ?? "")) return undefined;
  const own = `${url.protocol.slice(0, -1)}_proxy`;
  const name = settingOf(own, env) === undefined ? "all_proxy" : own;
  const value = settingOf(name, env);
  if (value === undefined) return undefined;
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
  const proxy = URL.canParse(text) ? new URL(text) : undefined;
  if (proxy === undefined || !/^https?:$/.test(proxy.protocol))
    throw new ProxyError(
      `${name.toUpperCase()} in the environment is not the URL of an HTTP proxy, such as http://proxy:3128`,
    );
  return proxy;
}

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** How the connections of one server are made, where they differ from others. */
export interface ConnectOptions {
  /** Looks names up, unless a proxy does. */
  readonly lookup?: (url: URL) => LookupFunction;
  /** The certificate that ptc shows, and its key, in PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

/**
 * A `fetch` with connections of its own, as the environment and these options have it.
 *
 * @throws Error where the certificate, or its key, is none.
 */
export function ownFetch({ lookup, certificate }: ConnectOptions): { fetch: Fetch; close(): Promise<void> } {
  const made = new Map<string, Promise<Dispatcher>>();
  const context = () => {
    if (certificate === undefined) return secureContextOf(process.env);
    const authorities = authoritiesOf(process.env) === "" ? {} : { ca: certificatesIn(process.env) };
    return tls.createSecureContext({ ...authorities, ...certificate });
  };
  if (certificate !== undefined) context();
  return {
    async fetch(input, init = {}) {
      const url = new URL(input);
      const proxy = proxyFor(url);
      const key = `${proxy?.href ?? url.origin}`;
      const dispatcher = made.get(key) ?? openDispatcher(proxy, context(), lookup?.(url));
      made.set(key, dispatcher);
      return fetchBy(await dispatcher, input, init);
    },
    async close() {
      const all = await Promise.all(made.values());
      await Promise.all(all.map((each) => each.destroy()));
    },
  };
}

/** The `fetch` of Node.js, by way of the environment's proxies and authorities. */
export async function outgoingFetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
  const dispatcher = await dispatcherFor(new URL(input));
  if (dispatcher === undefined) return fetch(input, init);
  return fetchBy(dispatcher, input, init);
}

/** The `fetch` of undici, because that of Node.js has another version and does not accept every dispatcher. */
async function fetchBy(dispatcher: Dispatcher, input: string | URL, init: RequestInit): Promise<Response> {
  const { fetch: send } = await loadUndici();
  const options = { ...(await withPlainBody(init)), dispatcher };
  return (await send(input, options as never)) as unknown as Response;
}

/** A request whose form is written out, since undici does not know the forms of Node.js for such. */
async function withPlainBody(init: RequestInit): Promise<RequestInit> {
  if (!(init.body instanceof FormData)) return init;
  const written = new Response(init.body);
  const headers = new Headers(init.headers);
  headers.set("content-type", written.headers.get("content-type") ?? "");
  return { ...init, headers, body: await written.arrayBuffer() };
}

/** Loads undici. On loading, it takes over the `fetch` of Node.js unless that is already loaded, so this loads that first. */
function loadUndici(): Promise<typeof import("undici")> {
  void globalThis.Response;
  return import("undici");
}

/** The options that the environment requires for a request of `node:http` or `node:https`. Mostly empty. @throws ProxyError */
export function requestOptionsFor(url: URL): { agent?: http.Agent; secureContext?: tls.SecureContext } {
  const secureContext = secureContextOf(process.env);
  const trusted = secureContext === undefined ? {} : { secureContext };
  const proxy = proxyFor(url);
  return proxy === undefined ? trusted : { ...trusted, agent: tunnelBy(proxy, url, trusted) };
}

/** Opens a tunnel of a proxy to a host and port, for any protocol (RFC 9110, section 9.3.6). @throws ProxyError, and errors of connecting. */
export function openTunnel(proxy: URL, path: string): Promise<Socket> {
  const secureContext = secureContextOf(process.env);
  const asking = askForTunnel(proxy, path, secureContext === undefined ? {} : { secureContext });
  return new Promise((resolve, reject) => {
    asking.once("connect", ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket as Socket);
      socket.destroy();
      reject(new ProxyError(`the proxy ${proxy.host} answers with HTTP ${statusCode}`));
    });
    asking.once("error", reject);
    asking.end();
  });
}

function askForTunnel(proxy: URL, path: string, trusted: object): http.ClientRequest {
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const authorization =
    user === ":" ? {} : { "proxy-authorization": `Basic ${Buffer.from(user).toString("base64")}` };
  const { request } = proxy.protocol === "https:" ? https : http;
  return request(proxy, {
    method: "CONNECT",
    path,
    headers: { host: path, ...authorization },
    agent: false,
    auth: "",
    ...trusted,
  });
}

/** An agent that connects to a URL through a tunnel of a proxy (RFC 9110, section 9.3.6). */
function tunnelBy(proxy: URL, url: URL, trusted: object): http.Agent {
  const isSecure = url.protocol === "https:";
  const host = hostOf(url);
  const path = `${url.hostname}:${url.port || DEFAULT_PORTS[url.protocol]}`;
  const agent = isSecure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true });
  agent.createConnection = (options, done) => {
    const asking = askForTunnel(proxy, path, trusted);
    asking.once("connect", ({ statusCode }, socket) => {
      if (statusCode !== 200) {
        socket.destroy();
        done?.(new ProxyError(`the proxy ${proxy.host} answers with HTTP ${statusCode}`), socket);
      } else {
        const secure = {
          ...options,
          ...trusted,
          socket: socket as Socket,
          host,
          servername: isIP(host) === 0 ? host : "",
        };
        done?.(null, isSecure ? tls.connect(secure as tls.ConnectionOptions) : socket);
      }
    });
    asking.once("error", (error) => done?.(error, undefined as never));
    asking.end();
    return undefined;
  };
  return agent;
}

/** One dispatcher for each proxy, and one without a proxy. They keep connections open. */
const dispatchers = new Map<string, Promise<Dispatcher>>();

async function dispatcherFor(url: URL): Promise<Dispatcher | undefined> {
  const proxy = proxyFor(url);
  const secureContext = secureContextOf(process.env);
  if (proxy === undefined && (secureContext === undefined || url.protocol !== "https:")) return undefined;
  const key = `${proxy?.href ?? ""} ${authoritiesOf(process.env)}`;
  const made = dispatchers.get(key) ?? openDispatcher(proxy, secureContext);
  dispatchers.set(key, made);
  return made;
}

async function openDispatcher(
  proxy: URL | undefined,
  secureContext: tls.SecureContext | undefined,
  lookup?: LookupFunction,
): Promise<Dispatcher> {
  const { Agent: DirectAgent, ProxyAgent } = await loadUndici();
  const trusted = secureContext === undefined ? {} : { secureContext };
  const found = lookup === undefined ? {} : { lookup };
  if (proxy === undefined) return new DirectAgent({ connect: { ...trusted, ...found } });
  return new ProxyAgent({ uri: proxy.href, proxyTunnel: false, requestTls: trusted, proxyTls: trusted });
}

function settingOf(name: string, env: Environment): string | undefined {
  const value = env[name] ?? env[name.toUpperCase()];
  return value === undefined || value.trim() === "" ? undefined : value.trim();
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "").toLowerCase();
}

function isHere(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return isIP(host) === 4 ? host.startsWith("127.") : host === "::1" || host.startsWith("::ffff:7f");
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

function isExcepted(url: URL, exceptions: string): boolean {
  const { protocol, port } = url;
  const host = hostOf(url);
  return exceptions
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === "*") return true;
      const [, bracketed, plain, only] = /^(?:\[([^\]]*)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
      const named = (bracketed ?? plain ?? "").replace(/^\*?\./, "");
      if (named === "" || (only !== undefined && only !== (port || DEFAULT_PORTS[protocol]))) return false;
      if (isIP(host) === 0) return host === named || host.endsWith(`.${named}`);
      return isWithin(host, named);
    });
}

/** Whether an address equals another, or is in a range such as `10.0.0.0/8`. */
function isWithin(address: string, named: string): boolean {
  const [network = "", bits] = named.split("/");
  const family = isIP(network);
  if (family === 0 || family !== isIP(address)) return false;
  const type = family === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  const most = family === 4 ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > most) return false;
  list.addSubnet(network, prefix, type);
  return list.check(address, type);
}

/** All authorities that ptc trusts, in PEM: those of Node.js, and those that the environment names. */
export function trustedAuthorities(env: Environment = process.env): string {
  return `${certificatesIn(env).join("\n")}\n`;
}

function authoritiesOf({
  SSL_CERT_FILE = "",
  SSL_CERT_DIR = "",
  NODE_EXTRA_CA_CERTS = "",
}: Environment): string {
  return SSL_CERT_FILE === "" && SSL_CERT_DIR === ""
    ? ""
    : [SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS].join("\n");
}

/** Contexts by their variables, because reading all authorities of a system takes some hundredths of a second. */
const contexts = new Map<string, tls.SecureContext>();

/**
 * The authorities to trust, or `undefined` if the environment names none beyond those of Node.js. Skips a file that cannot be
 * read or contains no certificate, like OpenSSL. A connection that needs it fails with an error.
 */
function secureContextOf(env: Environment): tls.SecureContext | undefined {
  const key = authoritiesOf(env);
  if (key === "") return undefined;
  const made = contexts.get(key) ?? tls.createSecureContext({ ca: certificatesIn(env) });
  contexts.set(key, made);
  return made;
}

const CERTIFICATE = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED )?CERTIFICATE-----/g;

/** Matches the names that OpenSSL looks for in a folder of certificates. */
const HASHED = /^[0-9a-f]{8}\.\d+$/;

function certificatesIn({ SSL_CERT_FILE, SSL_CERT_DIR, NODE_EXTRA_CA_CERTS }: Environment): string[] {
  const folders = (SSL_CERT_DIR ?? "").split(":").filter((folder) => folder !== "");
  const files = [
    ...[NODE_EXTRA_CA_CERTS, SSL_CERT_FILE].filter((file) => file !== undefined && file !== ""),
    ...folders.flatMap((folder) => namesIn(folder).map((name) => join(folder, name))),
  ] as string[];
  const named = files.flatMap((file) => textOf(file).match(CERTIFICATE) ?? []);
  return [...new Set([...tls.rootCertificates, ...named])];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => HASHED.test(name));
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
