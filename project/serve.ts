/** What `ptc serve` does: it serves models over the streams of the client that has started it, or many clients over HTTP. */
import { randomUUID } from "node:crypto";
import { basename, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { clock } from "../base/clock.ts";
import { messageOf } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import { entryInstead, STARTED_BY_PLUGIN } from "../configuration/clients/claude-code.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { whyNoServers } from "../configuration/configured-servers.ts";
import { FollowedConfiguration } from "../configuration/follow.ts";
import { DEFAULT_LISTEN, parseListen } from "../configuration/http-settings.ts";
import { followsValues } from "../configuration/policy/configured-flow.ts";
import { narrowed } from "../protocol/run-context.ts";
import type { Sealer } from "../secrets/sealing.ts";
import type { McpService } from "../server/mcp/service.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { version } from "../system/package.ts";
import { LOCAL_USER, localContext } from "./local-user.ts";
import { Refusal } from "./refusal.ts";
import type { OpenService } from "./service.ts";
import { refuseUnknownToolset } from "./tokens.ts";

/** How long to wait for a clean end, over stdio: clients wait less than a second for a server that they end. */
const PATIENCE_MS = 250;
/** The same over HTTP, where what the process has elsewhere, such as pods of a cluster, is given back before it ends. */
const HTTP_PATIENCE_MS = 5_000;

type Listen = NonNullable<ReturnType<typeof parseListen>>;

export interface ServeOptions {
  /** The configuration file that the user names. */
  config: string | undefined;
  /** Where to listen, as HOST:PORT; `true` for where the configuration says, and `undefined` for the standard streams. */
  http: string | true | undefined;
  /** The toolset to which the client is narrowed, over the standard streams. */
  toolset?: string | undefined;
}

/** What serving uses of its process. */
export interface ServeSurroundings {
  env: EnvironmentVariables;
  cwd: string;
  stdin: Readable;
  stdout: Writable;
  /** Registers a listener of every signal that asks ptc to end. */
  onSignal(listener: () => void): void;
  /** Receives one line for each failure that belongs to no run. */
  onWarning(message: string): void;
  /** Tells the person who has started ptc something, in one line. */
  tell(line: string): Promise<void>;
}

/**
 * Serves until the client has disconnected, or a signal comes. Resolves with whether it could serve.
 *
 * @throws Refusal, ConfigurationError
 */
export async function serve(
  { config, http, toolset }: ServeOptions,
  surroundings: ServeSurroundings,
): Promise<boolean> {
  const { env, cwd, onWarning, tell } = surroundings;
  const onEdit = (message: string) => void tell(oneLine(message));
  const following = await FollowedConfiguration.open({ flag: config, env, cwd, onEdit });
  const { current: configuration } = following;
  if (toolset !== undefined && http !== undefined)
    throw new Refusal(
      "--toolset is for a client that starts ptc; over HTTP, each has its own address: /mcp/NAME",
    );
  if (toolset !== undefined) refuseUnknownToolset("--toolset", toolset, configuration);
  const instead = findEntryInstead(configuration, env, cwd);
  if (instead !== undefined) {
    void tell(
      `Claude Code has ptc here as '${oneLine(instead.name)}' (${oneLine(instead.file)}); the plugin's stands aside`,
    );
    return standAside(surroundings);
  }
  const listen = http === undefined ? undefined : whereToListen(http, configuration);
  const nothing = whyNoServers(configuration);
  if (nothing !== undefined) onWarning(nothing);
  const [{ openService }, { Project }] = await Promise.all([
    import("./service.ts"),
    import("./open-project.ts"),
  ]);
  const project = new Project(configuration, { env, onWarning });
  let answerAt: string | undefined;
  const open = await openService(project, {
    following,
    ...LOCAL_USER,
    answerAt: () => answerAt,
    isScraped: listen !== undefined,
    isOneOfMany: listen !== undefined && configuration.storage.url !== undefined,
  });
  following.watch();
  const onUrl = (url: URL) => {
    answerAt = `${url.href}/approvals`;
  };
  const hasServed = await (listen === undefined
    ? serveStreams(open, surroundings, toolset)
    : serveHttp(open, listen, surroundings, onUrl));
  following.stop();
  await project.close(listen === undefined ? PATIENCE_MS : HTTP_PATIENCE_MS);
  return hasServed;
}

/** The entry of Claude Code that serves this project beside the plugin, if the plugin has started this process. */
function findEntryInstead({ file, directory }: Configuration, env: EnvironmentVariables, cwd: string) {
  if (env[STARTED_BY_PLUGIN] === undefined) return undefined;
  return entryInstead(env, cwd, file === undefined ? undefined : join(directory, basename(file)));
}

/** Answers a client that has ptc from elsewhere, with no tools. */
async function standAside({ stdin, stdout, onSignal, onWarning }: ServeSurroundings): Promise<true> {
  onSignal(() => stdin.destroy());
  const { serveNothing } = await import("../server/mcp/mcp-server.ts");
  await serveNothing({ version, stdin, stdout, onWarning });
  return true;
}

/** Serves the one client that has started ptc, until it has disconnected. */
async function serveStreams(
  { service, host }: OpenService,
  { env, stdin, stdout, onSignal, onWarning }: ServeSurroundings,
  toolset: string | undefined,
): Promise<true> {
  onSignal(() => stdin.destroy());
  const { serveMcp } = await import("../server/mcp/mcp-server.ts");
  // One process started ptc and has its standard streams: one conversation.
  const local = narrowed(localContext("serve", env), toolset === undefined ? [] : [toolset]);
  const context = { ...local, session: randomUUID() };
  const said = followsValues(host.configuration)
    ? await listenForUser(service, host.project.own.state.path)
    : undefined;
  await serveMcp(service, { context, stdin, stdout, onWarning });
  said?.close();
  return true;
}

/** Where to listen, if it may be listened there. @throws Refusal, ConfigurationError */
function whereToListen(given: string | true, { http, file }: Configuration): Listen {
  const text = given === true ? (http.listen ?? DEFAULT_LISTEN) : given;
  const listen = parseListen(text);
  if (listen === undefined)
    throw new Refusal(`--http: '${oneLine(text)}' is not HOST:PORT, such as 127.0.0.1:8080`);
  const refuse = (why: string): never => {
    throw new ConfigurationError("invalid", `${file ?? "ptc.yaml"}: ${why}`);
  };
  if (listen.isLoopback) return listen;
  const beyond = `${text} is reached from other machines, and`;
  if (http.auth === undefined)
    refuse(`http.auth: ${beyond} nothing says who may use it; add http.auth, or listen on 127.0.0.1`);
  if (http.publicUrl === undefined) refuse(`http.public_url: ${beyond} needs the URL that clients are given`);
  if (http.tls === undefined && http.trustedProxies.length === 0)
    refuse(
      `http.tls: ${beyond} tokens would pass in plain text; add http.tls, or the http.trusted_proxies in front of it`,
    );
  return listen;
}

/** Serves many clients until a signal comes. A second signal ends it at once. Resolves with whether it could listen. */
async function serveHttp(
  { service, host, gate, metrics }: OpenService,
  listen: Listen,
  { env, onWarning, onSignal, tell }: ServeSurroundings,
  onUrl: (url: URL) => void,
): Promise<boolean> {
  const { http } = host.configuration;
  const [
    { openAuthenticator },
    { HttpServer },
    { sealedState },
    { projectSealer },
    { Records },
    { replayForSomebody },
    { SESSION_MS },
    { MAX_ANSWER_CHARS },
  ] = await Promise.all([
    import("../identity/identity.ts"),
    import("../server/http/http-server.ts"),
    import("../server/http/sealed-state.ts"),
    import("../execution/pending/pending-approvals.ts"),
    import("../server/http/records.ts"),
    import("../execution/replay/replay-for-somebody.ts"),
    import("../server/mcp/shared-conversations.ts"),
    import("../server/http/session-transport.ts"),
  ]);
  const stopped = Promise.withResolvers<void>();
  const hurried = Promise.withResolvers<void>();
  let signals = 0;
  onSignal(() => (++signals === 1 ? stopped : hurried).resolve());
  const now = () => Math.round(clock.wallMs());
  const sealer = projectSealer(host.configuration, env);
  const pages = await serveConsole({ host, gate }, sealer);
  let server: Awaited<ReturnType<typeof HttpServer.listen>>;
  try {
    server = await HttpServer.listen(service, {
      listen,
      publicUrl: http.publicUrl,
      tls: http.tls,
      trustedProxies: http.trustedProxies,
      authenticator: openAuthenticator(host.configuration, { env, onWarning }),
      anybody: {
        context: localContext("serve", env),
        scopes: new Set(["ptc:run", "ptc:approve", "ptc:admin"] as const),
      },
      records: new Records({
        gate,
        archive: () => host.archive,
        pending: () => host.pendingApprovals(),
        audit: async () => host.project.readAudit(),
        replay: replayForSomebody(host),
      }),
      logins: await serveLogins(host, sealer, env),
      slack: (request) => host.answerSlack(request),
      console: pages,
      sealer: sealedState(sealer, {
        now,
        maxAgeMs: () => host.configuration.approvals.expireMs,
      }),
      sessionSealer: sealedState(sealer, { now, maxAgeMs: () => SESSION_MS, maxChars: MAX_ANSWER_CHARS }),
      hasToolset: (name) => Object.hasOwn(host.configuration.toolsets, name),
      metrics,
      whyNotReady: () => whyNotReady(host),
      onWarning,
    });
  } catch (error) {
    await tell(`cannot listen at ${listen.host}:${listen.port}: ${oneLine(messageOf(error))}`);
    return false;
  }
  onUrl(server.url);
  void host.prepare();
  await tell(`serving MCP at ${server.url.href}`);
  for (const name of Object.keys(host.configuration.toolsets))
    await tell(`serving toolset '${name}' at ${server.url.href}/${name}`);
  if (pages !== undefined) await tell(pages.where());
  await stopped.promise;
  pages?.close();
  await Promise.race([server.drain(host.configuration.http.drainMs), hurried.promise]);
  if (signals > 1) await server.close();
  return true;
}

/** What answers browsers in which people log in at servers; `undefined` where no issuer can say who sits at one. */
async function serveLogins(
  host: OpenService["host"],
  sealer: () => Promise<Sealer>,
  env: EnvironmentVariables,
) {
  const { publicUrl, auth } = host.configuration.http;
  if (publicUrl === undefined || !auth?.issuers.some(({ login }) => login !== undefined)) return undefined;
  const [{ browserIssuers }, { principalOf }] = await Promise.all([
    import("../identity/identity.ts"),
    import("../identity/caller.ts"),
  ]);
  const issuers = () => browserIssuers(host.configuration, env);
  return host.serveLogins({ publicUrl, sealer, issuers, principalOf });
}

/** The console beside MCP; `undefined` where people have tokens, and no issuer can say who sits at a browser. */
async function serveConsole(opened: Pick<OpenService, "host" | "gate">, sealer: () => Promise<Sealer>) {
  const { auth } = opened.host.configuration.http;
  if (auth !== undefined && !auth.issuers.some(({ login }) => login !== undefined)) return undefined;
  const { openConsoleOfHost } = await import("./console/served-console.ts");
  return openConsoleOfHost(opened, sealer);
}

/** Why runs could not be kept now, where a storage is shared. */
async function whyNotReady({ configuration, archive }: OpenService["host"]): Promise<string | undefined> {
  if (configuration.storage.url === undefined) return undefined;
  try {
    await archive.exists();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Takes what the user says from a hook of the client, where labels make a difference to it. */
async function listenForUser(service: McpService, folder: string) {
  const { hearSaid } = await import("../server/mcp/said-socket.ts");
  return hearSaid(folder, process.ppid, (text) => service.say(text));
}
