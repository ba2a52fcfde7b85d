import { matchesUrl } from "../broker/policy/value-lists.ts";
import { matchesPattern } from "../protocol/tool-names.ts";
import type { Configuration, ServerConfiguration } from "./configuration.ts";
import { ConfigurationError } from "./configuration-error.ts";
import { distinctSecrets } from "./configured-servers.ts";
import { buildManagedInterceptors, interceptorSecrets } from "./interceptor-settings.ts";
import type { ManagedLabels, ManagedSettings, ServerMatch } from "./managed-settings.ts";

/** Whether the project's file itself sets a key, such as `sandbox.runtime`. */
export type IsGiven = (key: string) => boolean;

/**
 * A project's configuration, made as strict as the managed settings. docs/policy.md describes each key under "Managed settings". The
 * managed lists of tools and rules stay beside the project's, because neither can express the other. Each decision uses both.
 */
export function mergeManaged(
  configuration: Configuration,
  settings: ManagedSettings,
  isGiven: IsGiven,
): Configuration {
  const { approvals, sandbox, archive, audit } = configuration;
  const held: string[] = [];
  const hold = (key: string, own: unknown, managed: unknown) => {
    const says = `managed settings (${settings.file}) hold it to ${JSON.stringify(managed)}`;
    if (isGiven(key) && own !== managed)
      held.push(
        `${configuration.file ?? "configuration"}: ${key}: ${JSON.stringify(own)} does not count: ${says}`,
      );
  };
  const fixed = <T>(key: string, own: T, managed: T | undefined): T => {
    if (managed === undefined) return own;
    hold(key, own, managed);
    return managed;
  };
  const atLeast = (key: string, own: number, managed = 0): number =>
    own >= managed ? own : fixed(key, own, managed);
  const within = (key: string, own: readonly string[], managed: readonly string[] | undefined) => {
    const outside =
      managed === undefined
        ? []
        : own.filter((each) => !managed.some((bound) => matchesPattern(bound, each)));
    if (outside.length > 0)
      held.push(
        `${configuration.file ?? "configuration"}: ${key}: ${outside.join(", ")} counts only as far as managed settings (${settings.file}) allow it`,
      );
  };
  // As far as ptc knows, every other runtime isolates less, unless managed settings name it.
  const isStrong = settings.sandbox.allow_weaker_isolation === false;
  if (isStrong && sandbox.engine === "wasm" && settings.sandbox.engine === undefined)
    throw new ConfigurationError(
      "invalid",
      `${configuration.file ?? "PTC_ENGINE"}: sandbox.engine: wasm isolates less than runsc, and managed settings (${settings.file}) have allow_weaker_isolation: false; use docker, runsc or auto`,
    );
  const runtime = settings.sandbox.runtime ?? (isStrong ? "runsc" : undefined);
  within("tools.allow", configuration.tools.allow ?? [], settings.tools.allow);
  within("approvals.allow", approvals.allow, settings.approvals.allow);
  const asked = approvals.allow.filter((own) =>
    settings.approvals.ask.some((each) => matchesPattern(each, own) || matchesPattern(own, each)),
  );
  if (asked.length > 0)
    held.push(
      `${configuration.file ?? "configuration"}: approvals.allow: ${asked.join(", ")} does not count where managed settings (${settings.file}) ask`,
    );
  const unreviewed = (approvals.reviewer?.tools ?? []).filter(
    (own) =>
      settings.approvals.ask.some((each) => matchesPattern(each, own) || matchesPattern(own, each)) ||
      settings.approvals.allow?.some((bound) => matchesPattern(bound, own)) === false,
  );
  if (unreviewed.length > 0)
    held.push(
      `${configuration.file ?? "configuration"}: approvals.reviewer.tools: ${unreviewed.join(", ")} counts only where managed settings (${settings.file}) do not want a person asked`,
    );
  held.push(...otherPorts(configuration.servers, settings));
  const servers =
    settings.sandbox.servers === "wanted" && sandbox.servers === "required"
      ? sandbox.servers
      : fixed("sandbox.servers", sandbox.servers, settings.sandbox.servers);
  const unwalled = configuration.servers.filter(
    (server) => servers === "required" && server.transport === "stdio" && server.sandbox === false,
  );
  held.push(
    ...unwalled.map(
      ({ name }) =>
        `${configuration.file ?? "configuration"}: server '${name}': sandbox: false does not count: managed settings (${settings.file}) require a sandbox`,
    ),
  );
  const interceptors = buildManagedInterceptors(settings.interceptors);
  const secrets = interceptorSecrets(interceptors);
  return {
    ...configuration,
    approvals: {
      ...approvals,
      default:
        settings.approvals.default === "destructive"
          ? fixed("approvals.default", approvals.default, "destructive")
          : approvals.default,
      require:
        settings.approvals.require === undefined || settings.approvals.require === "any"
          ? approvals.require
          : fixed("approvals.require", approvals.require, settings.approvals.require),
    },
    sandbox: {
      ...sandbox,
      ...managedEngine(settings.sandbox.engine),
      // `PATH` is the user's, and would choose what isolates.
      runsc: settings.sandbox.runsc ?? (isStrong ? (sandbox.runsc ?? "system") : sandbox.runsc),
      runtime: fixed("sandbox.runtime", sandbox.runtime, runtime),
      image: fixed("sandbox.image", sandbox.image, settings.sandbox.image),
      allowWeakerIsolation: fixed(
        "sandbox.allow_weaker_isolation",
        sandbox.allowWeakerIsolation,
        settings.sandbox.allow_weaker_isolation,
      ),
      servers,
    },
    archive: {
      ...archive,
      keepDays: atLeast("archive.keep_days", archive.keepDays, settings.archive.keep_days),
    },
    audit: {
      ...audit,
      strict: fixed("audit.strict", audit.strict, settings.audit.strict),
      keepDays: atLeast("audit.keep_days", audit.keepDays, settings.audit.keep_days),
      syslog: fixed("audit.syslog", audit.syslog, settings.audit.syslog),
      otlp: fixed("audit.otlp", audit.otlp, settings.audit.otlp),
    },
    labels: settings.labels.length === 0 ? configuration.labels : strictest(configuration.labels, fixed),
    servers: configuration.servers
      .map((server) => (unwalled.includes(server) ? { ...server, sandbox: undefined } : server))
      .map((server) => mergeServer(server, settings)),
    interceptors: [...configuration.interceptors, ...interceptors],
    secrets: distinctSecrets([...secrets, ...configuration.secrets], {}),
    credentials: distinctSecrets([...secrets, ...configuration.credentials], {}),
    managed: [...configuration.managed, settings],
    held: [...configuration.held, ...held],
  };
}

/** The strictest reach of labels, so that no setting of a project weakens managed labels. */
function strictest(
  { scope, refused, plain, preset }: Configuration["labels"],
  fixed: <T>(key: string, own: T, managed: T | undefined) => T,
): Configuration["labels"] {
  return {
    scope: fixed("labels.scope", scope, "conversation"),
    refused: fixed("labels.refused", refused, "deny"),
    preset,
    plain: plain.length === 0 ? plain : fixed<readonly string[]>("labels.plain", plain, []),
  };
}

function mergeServer(server: ServerConfiguration, settings: ManagedSettings): ServerConfiguration {
  const off = server.off ?? whyNotAllowed(server, settings) ?? whyNotPlaced(server, settings);
  const entries = settings.labels.filter((entry) => matchesServer(server, entry.server));
  const flow = entries.reduce(restrictFlow, server.flow);
  return { ...server, off, flow };
}

function whyNotAllowed(server: ServerConfiguration, { file, servers }: ManagedSettings): string | undefined {
  const { allow, block } = servers;
  if (block.some((entry) => matchesServer(server, entry)))
    return `managed settings do not allow it (${file}: servers.block)`;
  if (allow === undefined || allow.some((entry) => allows(server, entry, allow))) return undefined;
  return `managed settings do not allow it (${file}: servers.allow)`;
}

/** Tells of servers that an entry of what is blocked or labelled would match if it named a port: a URL without one means the usual port. */
function otherPorts(servers: readonly ServerConfiguration[], settings: ManagedSettings): string[] {
  const entries = [
    ...settings.servers.block.map((entry) => ["servers.block", entry] as const),
    ...settings.labels.map(({ server }) => ["labels", server] as const),
  ];
  return entries.flatMap(([key, { url, ...more }]) => {
    if (url === undefined || /^[^:]+:\/\/[^/]*:(?:\d+|\*)(?:\/|$)/.test(url)) return [];
    const anyPort = url.replace(/^([^:]+:\/\/[^/]+)/, "$1:*");
    const missed = servers.filter(
      (server) =>
        !matchesServer(server, { url, ...more }) && matchesServer(server, { url: anyPort, ...more }),
    );
    return missed.map(
      ({ name }) =>
        `${settings.file}: ${key}: '${url}' does not match server '${name}', which has a port: '${anyPort}' matches every port`,
    );
  });
}

/**
 * Why ptc refuses an API whose address only its description has: managed settings match URLs, which they would not find there, and the
 * description may change at any time.
 */
function whyNotPlaced(
  server: ServerConfiguration,
  { file, servers, labels }: ManagedSettings,
): string | undefined {
  if (server.transport !== "openapi" || server.url !== "") return undefined;
  const isOfUrls = (key: string, all: readonly ServerMatch[]) =>
    all.some(
      ({ name, url }) => url !== undefined && (name === undefined || matchesPattern(name, server.name)),
    )
      ? [key]
      : [];
  const [key] = [
    ...isOfUrls("servers.block", servers.block),
    ...isOfUrls(
      "labels",
      labels.map((entry) => entry.server),
    ),
  ];
  return key === undefined
    ? undefined
    : `managed settings go by URLs (${file}: ${key}), so it needs a base_url that says where its API is`;
}

/** A name proves nothing about the command or the URL. If any entry lists commands or URLs, one of them must match. */
function allows(server: ServerConfiguration, entry: ServerMatch, all: readonly ServerMatch[]): boolean {
  const kind = "url" in server ? "url" : "command";
  if (entry[kind] === undefined && all.some((other) => other[kind] !== undefined)) return false;
  return matchesServer(server, entry, isEveryCommand);
}

/** @param isCommand whether a command matches; all commands of `tools.local` are one server. */
function matchesServer(
  server: ServerConfiguration,
  { name, command, url }: ServerMatch,
  isCommand: typeof isEveryCommand = isAnyCommand,
): boolean {
  return (
    (name === undefined || matchesPattern(name, server.name)) &&
    (command === undefined || isCommand(command, server)) &&
    (url === undefined ||
      urlsOf(server, isCommand !== isEveryCommand).some((own) =>
        matchesUrl(url, own, isCommand === isEveryCommand ? "certain" : "possible"),
      ))
  );
}

/** The URLs of a server. Where its API's description comes from is one too, but for what a server is allowed for. */
function urlsOf(server: ServerConfiguration, isAny: boolean): string[] {
  if (!("url" in server)) return [];
  return isAny && server.transport === "openapi" ? [server.url, server.openapi] : [server.url];
}

/** Whether a server starts only this command, whatever the arguments of calls are. */
function isEveryCommand(patterns: readonly string[], server: ServerConfiguration): boolean {
  if (server.transport === "stdio") return matchesCommand(patterns, [server.command, ...server.args]);
  if (server.transport !== "local") return false;
  return server.localTools.every(({ program, elements }) => {
    // A program decides how many words a list becomes.
    if (elements.some((parts) => parts.some((part) => typeof part === "object" && part.isSpread)))
      return false;
    const words = elements.map((parts) =>
      parts.map((part) => (typeof part === "string" ? part : ANY_VALUE)).join(""),
    );
    return matchesCommand(patterns, [program, ...words]);
  });
}

/** Stands for an argument of a call. Only `*` matches it, because only `*` matches every value. */
const ANY_VALUE = "\0";

/** Whether a server starts this command; for local tools, whether one of them starts this program. */
function isAnyCommand(patterns: readonly string[], server: ServerConfiguration): boolean {
  if (server.transport !== "local") return isEveryCommand(patterns, server);
  return server.localTools.some(({ program }) => matchesPattern(patterns[0] ?? "", program));
}

function matchesCommand(patterns: readonly string[], words: readonly string[]): boolean {
  return (
    patterns.length === words.length && patterns.every((each, i) => matchesPattern(each, words[i] ?? ""))
  );
}

type Flow = ServerConfiguration["flow"];

/** Adds labels to what comes from a server and takes labels from what may flow into it, for each tool too. */
function restrictFlow(flow: Flow, { labels = [], accepts }: ManagedLabels): Flow {
  const withManaged = <T>(own: readonly T[]) => [...new Set([...own, ...labels])];
  const restrict = (own: Pick<Flow, "labels" | "results" | "accepts">) => ({
    labels: own.labels === undefined ? undefined : withManaged<(typeof own.labels)[number]>(own.labels),
    results:
      own.results &&
      Object.fromEntries(Object.entries(own.results).map(([field, each]) => [field, withManaged(each)])),
    accepts: restrictAccepts(own.accepts, accepts),
  });
  const whole = restrict({
    labels: flow.labels ?? [],
    results: flow.results,
    accepts: flow.accepts ?? accepts,
  });
  const tools = Object.entries(flow.tools).map(([name, own]) => [name, restrict(own)] as const);
  return { ...whole, tools: Object.fromEntries(tools) };
}

/** The engine that managed settings name, or the socket of the only Docker engine to use. */
function managedEngine(named: string | undefined): Partial<Configuration["sandbox"]> {
  if (named === undefined) return {};
  if (named === "docker" || named === "runsc") return { engine: named };
  return { engine: "docker", engineAddress: named };
}

/** The most that may flow in. Arguments that the project does not mention accept what managed settings accept. */
function restrictAccepts(own: Flow["accepts"], accepts: ManagedLabels["accepts"]): Flow["accepts"] {
  if (own === undefined || accepts === undefined) return own;
  const within = (labels: readonly string[]) => labels.filter((label) => accepts.includes(label));
  if (isList(own)) return within(own);
  const entries = Object.entries(own).map(([argument, taken]): [string, readonly string[]] => [
    argument,
    // The project's `lists` and what the user names are dropped, because they would accept more than the labels.
    within("labels" in taken ? taken.labels : taken),
  ]);
  return { "*": accepts, ...Object.fromEntries(entries) };
}

function isList(accepts: Flow["accepts"]): accepts is readonly string[] {
  return Array.isArray(accepts);
}
