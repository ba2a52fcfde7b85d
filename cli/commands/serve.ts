import { randomUUID } from "node:crypto";
import { basename, join } from "node:path";
import { clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import { entryInstead, STARTED_BY_PLUGIN } from "../../configuration/clients/claude-code.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import { projectFolder } from "../../configuration/configuration-paths.ts";
import { whyNoServers } from "../../configuration/configured-servers.ts";
import { FollowedConfiguration } from "../../configuration/follow.ts";
import { DEFAULT_LISTEN, parseListen } from "../../configuration/http-settings.ts";
import { followsValues } from "../../configuration/policy/configured-flow.ts";
import { LOCAL_USER, localContext } from "../../project/local-user.ts";
import type { OpenService } from "../../project/service.ts";
import type { Sealer } from "../../secrets/sealing.ts";
import type { McpService } from "../../server/mcp/service.ts";
import { version } from "../../system/package.ts";
import { claudeCommand } from "../claude-command.ts";
import {
  CONFIG,
  type DefineCommand,
  EXIT,
  type ExitCode,
  SIGNALS,
  type Surroundings,
  tell,
  UsageError,
} from "../command.ts";

const MAX_WARNINGS = 10_000;

/** How long to wait for a clean end, over stdio: clients wait less than a second for a server that they end. */
const PATIENCE_MS = 250;
/** The same over HTTP, where what the process has elsewhere, such as pods of a cluster, is given back before it ends. */
const HTTP_PATIENCE_MS = 5_000;

/** `ptc serve` */
export const serveCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("serve")
    .description(
      "serve execute_program, search_tools and three more tools over stdio (MCP), or to many over HTTP",
    )
    .option(...CONFIG)
    .option("--http [address]", "serve over HTTP, at HOST:PORT; by default where http.listen says")
    .addHelpText(
      "after",
      () =>
        `\nExample:\n  ${claudeCommand(surroundings, join(projectFolder({ env: surroundings.env, cwd: surroundings.cwd() }), "ptc.yaml"))}\n`,
    )
    .action(async (flags: ServeFlags) => {
      finish(await serve(flags, surroundings));
    });
};

interface ServeFlags {
  config?: string;
  /** `true` where no address is given. */
  http?: string | true;
}

async function serve(flags: ServeFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdin, stdout, stderr } = surroundings;
  const following = await FollowedConfiguration.open({
    flag: flags.config,
    env,
    cwd: surroundings.cwd(),
    onEdit: (message) => void stderr.write(`ptc: ${oneLine(message)}\n`),
  });
  const onWarning = warnOnce(stderr);
  const { current: configuration } = following;
  if (env[STARTED_BY_PLUGIN] !== undefined) {
    const cwd = surroundings.cwd();
    const file =
      configuration.file === undefined
        ? undefined
        : join(configuration.directory, basename(configuration.file));
    const instead = entryInstead(env, cwd, file);
    if (instead !== undefined) {
      stderr.write(
        `ptc: Claude Code has ptc here as '${oneLine(instead.name)}' (${oneLine(instead.file)}); the plugin's stands aside\n`,
      );
      for (const signal of SIGNALS) surroundings.on(signal, () => stdin.destroy());
      const { serveNothing } = await import("../../server/mcp/mcp-server.ts");
      await serveNothing({ version, stdin, stdout, onWarning });
      return EXIT.done;
    }
  }
  const listen = flags.http === undefined ? undefined : whereToListen(flags.http, configuration);
  const nothing = whyNoServers(configuration);
  if (nothing !== undefined) onWarning(nothing);
  const [{ openService }, { Project }] = await Promise.all([
    import("../../project/service.ts"),
    import("../../project/open-project.ts"),
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
  const serving = { ...open, surroundings, onWarning, onUrl };
  const code = await (listen === undefined ? serveStreams(serving) : serveHttp(serving, listen));
  following.stop();
  await project.close(listen === undefined ? PATIENCE_MS : HTTP_PATIENCE_MS);
  return code;
}

interface Serving extends OpenService {
  surroundings: Surroundings;
  onWarning: (message: string) => void;
  /** Is told where clients reach ptc. */
  onUrl: (url: URL) => void;
}

/** Serves the one client that has started ptc, until it has disconnected. */
async function serveStreams({ service, host, surroundings, onWarning }: Serving): Promise<ExitCode> {
  const { env, stdin, stdout } = surroundings;
  for (const signal of SIGNALS) surroundings.on(signal, () => stdin.destroy());
  const { serveMcp } = await import("../../server/mcp/mcp-server.ts");
  // One process started ptc and has its standard streams: one conversation.
  const context = { ...localContext("serve", env), session: randomUUID() };
  const said = followsValues(host.configuration)
    ? await listenForUser(service, host.project.own.state.path)
    : undefined;
  await serveMcp(service, { context, stdin, stdout, onWarning });
  said?.close();
  return EXIT.done;
}

/** Where to listen, if it may be listened there. @throws UsageError, ConfigurationError */
function whereToListen(given: string | true, { http, file }: Configuration) {
  const text = given === true ? (http.listen ?? DEFAULT_LISTEN) : given;
  const listen = parseListen(text);
  if (listen === undefined)
    throw new UsageError(`--http: '${oneLine(text)}' is not HOST:PORT, such as 127.0.0.1:8080`);
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

/** Serves many clients until a signal comes. A second one ends it at once. */
async function serveHttp(
  { service, host, gate, surroundings, onWarning, onUrl, metrics }: Serving,
  listen: NonNullable<ReturnType<typeof whereToListen>>,
): Promise<ExitCode> {
  const { env, stderr } = surroundings;
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
    import("../../identity/identity.ts"),
    import("../../server/http/http-server.ts"),
    import("../../server/http/sealed-state.ts"),
    import("../../execution/pending/pending-approvals.ts"),
    import("../../server/http/records.ts"),
    import("../../execution/replay/replay-for-somebody.ts"),
    import("../../server/mcp/shared-conversations.ts"),
    import("../../server/http/session-transport.ts"),
  ]);
  const stopped = Promise.withResolvers<void>();
  const hurried = Promise.withResolvers<void>();
  let signals = 0;
  for (const signal of SIGNALS)
    surroundings.on(signal, () => (++signals === 1 ? stopped : hurried).resolve());
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
      metrics,
      whyNotReady: () => whyNotReady(host),
      onWarning,
    });
  } catch (error) {
    await tell(stderr, `cannot listen at ${listen.host}:${listen.port}: ${oneLine(messageOf(error))}`);
    return EXIT.failed;
  }
  onUrl(server.url);
  void host.warm();
  await tell(stderr, `serving MCP at ${server.url.href}`);
  if (pages !== undefined) await tell(stderr, pages.where());
  await stopped.promise;
  pages?.close();
  await Promise.race([server.drain(host.configuration.http.drainMs), hurried.promise]);
  if (signals > 1) await server.close();
  return EXIT.done;
}

/** What answers browsers in which people log in at servers; `undefined` where no issuer can say who sits at one. */
async function serveLogins(
  host: OpenService["host"],
  sealer: () => Promise<Sealer>,
  env: Surroundings["env"],
) {
  const { publicUrl, auth } = host.configuration.http;
  if (publicUrl === undefined || !auth?.issuers.some(({ login }) => login !== undefined)) return undefined;
  const [{ browserIssuers }, { principalOf }] = await Promise.all([
    import("../../identity/identity.ts"),
    import("../../identity/caller.ts"),
  ]);
  const issuers = () => browserIssuers(host.configuration, env);
  return host.serveLogins({ publicUrl, sealer, issuers, principalOf });
}

/** The console beside MCP; `undefined` where people have tokens, and no issuer can say who sits at a browser. */
async function serveConsole(opened: Pick<OpenService, "host" | "gate">, sealer: () => Promise<Sealer>) {
  const { auth } = opened.host.configuration.http;
  if (auth !== undefined && !auth.issuers.some(({ login }) => login !== undefined)) return undefined;
  const { openConsoleOfHost } = await import("../../project/console/served-console.ts");
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
  const { hearSaid } = await import("../../server/mcp/said-socket.ts");
  return hearSaid(folder, process.ppid, (text) => service.say(text));
}

/** Prints each distinct message once. */
function warnOnce(stderr: Surroundings["stderr"]): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.has(message) || said.size >= MAX_WARNINGS) return;
    said.add(message);
    stderr.write(`ptc: warning: ${oneLine(message)}\n`);
  };
}
