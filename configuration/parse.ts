import { availableParallelism, totalmem } from "node:os";
import { resolve } from "node:path";
import type * as z from "zod";
import { isObject } from "../base/json.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import { defaultCeiling, type Machine } from "../sandbox/pool/pool-policy.ts";
import { ENGINE_NAMES, type EngineChoice } from "../sandbox/sandbox-engine.ts";
import { inheritedSecrets } from "../secrets/inherited-environment.ts";
import { countriesWith } from "../secrets/pii/pii-kinds.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { Configuration } from "./configuration.ts";
import { ConfigurationError, type Problem } from "./configuration-error.ts";
import { credentialsOf, distinctSecrets, secretsOf, startedServers } from "./configured-servers.ts";
import { findListsAsLabels, locateFlowNames } from "./flow-names.ts";
import { buildHttp, findHttpProblems, httpSecrets } from "./http-settings.ts";
import { findInterceptorProblems } from "./interceptor-problems.ts";
import { buildInterceptors, interceptorSecrets } from "./interceptor-settings.ts";
import { buildLocalServer, findLocalToolProblems } from "./local-tools.ts";
import { buildServer, findServerProblems } from "./mcp-servers.ts";
import { buildModelServer, buildSearch, findExtractProblems, findSearchProblems } from "./models.ts";
import { buildNotify, findNotifyProblems, notifySecrets } from "./notify-settings.ts";
import { type ExpandedFile, expandVariables, type UnsetVariables } from "./outside-values.ts";
import { findListProblems, readLists, readPolicy } from "./policy-files.ts";
import { findServerSandboxProblems } from "./server-sandbox.ts";
import { plain } from "./settings/declare.ts";
import { knownKeys, parseSettings, type Settings } from "./settings/settings.ts";
import { buildStorage, findStorageProblems, storageSecrets } from "./storage-settings.ts";
import { directPattern, findDirectProblems, isShortDirect, locatePatterns } from "./tool-patterns.ts";
import { MAX_CONFIGURATION_BYTES, renderPath, YamlSource } from "./yaml-source.ts";

const PROGRAMS_PER_CORE = 2;
/** The share of the machine's memory that running programs may fill. */
const MEMORY_SHARE = 0.5;
const MAX_PROGRAMS = 32;
const BYTES_PER_MB = 1024 * 1024;

/** The most problems that are collected. Only the first in the file is reported. */
const MAX_PROBLEMS = 50;

export interface ParseOptions {
  /** The name of the file in messages; `undefined` if there is none. */
  file: string | undefined;
  /** The absolute path against which relative paths are resolved. */
  directory: string;
  environment: EnvironmentVariables;
}

/**
 * Reads the text of a ptc.yaml.
 *
 * @throws ConfigurationError that names the first wrong line.
 */
export function parseConfiguration(text: string, options: ParseOptions): Configuration {
  const file = options.file ?? "configuration";
  if (Buffer.byteLength(text) > MAX_CONFIGURATION_BYTES) {
    throw new ConfigurationError(
      "invalid",
      `${file}:1: larger than ${MAX_CONFIGURATION_BYTES} bytes; is this the right file?`,
    );
  }
  const source = YamlSource.parse(text);
  if (!(source instanceof YamlSource)) {
    throw new ConfigurationError("invalid", `${file}:${source.line}: ${source.message}`);
  }
  const expanded = expandVariables(source, options.environment);
  const parsed = parseSettings(expanded.value);
  const problems = [
    ...expanded.problems,
    ...(parsed.success
      ? findProblems(parsed.data, expanded, options)
      : parsed.error.issues.slice(0, MAX_PROBLEMS).flatMap((issue) => problemsOf(issue, source.value))),
  ];
  if (problems.length > 0) throw firstProblem(problems, source, file);
  if (!parsed.success) throw new ConfigurationError("invalid", `${file}:1: cannot be read`);
  return buildConfiguration(parsed.data, expanded, source, options);
}

/** Under what names clients have servers, for a file of theirs that was pasted here. */
const NAMES_OF_CLIENTS: ReadonlySet<string> = new Set([
  "mcpServers",
  "mcp_servers",
  "context_servers",
  "amp.mcpServers",
]);
const FROM_CLIENT =
  "move it to a file of its own, such as mcp.json, remove this one, and run `ptc init --import mcp.json`";

function problemsOf(issue: z.core.$ZodIssue, file: unknown): Problem[] {
  if (issue.code !== "unrecognized_keys") {
    const isMapping = issue.path.join() === "servers" && isObject(file) && isObject(file.servers);
    const advice = isMapping ? `; if a client's file has it so, ${FROM_CLIENT}` : "";
    return [{ path: issue.path, message: issue.message + advice }];
  }
  const known = knownKeys(issue.path);
  return issue.keys.slice(0, MAX_PROBLEMS).map((key) => {
    if (issue.path.length === 0 && NAMES_OF_CLIENTS.has(key))
      return { path: [key], message: `is what clients call their servers; ${FROM_CLIENT}` };
    const [nearest] = similarNames(key, known, 1);
    const advice = nearest === undefined ? `known here: ${known.join(", ")}` : `did you mean '${nearest}'?`;
    return { path: [...issue.path, key], message: `is not a known key; ${advice}` };
  });
}

/** Problems of settings with valid keys and types that contradict each other. */
function findProblems(
  settings: Settings,
  { unsetIn, value }: ExpandedFile,
  { environment, file, directory }: ParseOptions,
): Problem[] {
  const { servers, tools, sandbox } = settings;
  const problems = [
    ...findServerProblems(servers, unsetIn),
    ...findServerSandboxProblems(servers, sandbox.servers, { file, directory }),
    ...findLocalToolProblems(tools.local, servers, unsetIn),
    ...findExtractProblems(settings.extract, servers, unsetIn),
    ...findDirectProblems(settings, isShortDirect(value)),
    ...findPiiProblems(settings.pii),
    ...findListProblems(settings),
    ...findListsAsLabels(settings),
    ...findSearchProblems(settings.search, environment),
    ...findStorageProblems(settings.storage, unsetIn),
    ...findHttpProblems(settings.http),
    ...findNotifyProblems(settings.notify),
    ...findInterceptorProblems(settings.interceptors, settings.approvals),
  ];
  if (tools.allow !== undefined && tools.block.length > 0)
    problems.push({ path: ["tools", "block"], message: "cannot stand beside `allow`; keep one of the two" });
  const { warm, max_warm: maxWarm = warm } = sandbox;
  if (maxWarm < warm) {
    const message = `cannot be less than \`warm\`, which is ${warm}`;
    problems.push({ path: ["sandbox", "max_warm"], message });
  }
  if (sandbox.runtime !== "runsc" && !sandbox.allow_weaker_isolation) {
    const message = "isolates less than runsc; use runsc, or set allow_weaker_isolation: true";
    problems.push({ path: ["sandbox", "runtime"], message });
  }
  return problems;
}

function findPiiProblems({ redact, countries }: Settings["pii"]): Problem[] {
  if (redact.length === 0 && countries.length > 0)
    return [
      { path: ["pii", "countries"], message: "says nothing without `redact`; add the kinds to redact" },
    ];
  if (!redact.includes("national_id")) return [];
  if (countries.length === 0) {
    const message =
      "lists national_id, and `countries` does not say whose; add them, such as countries: [DE, US]";
    return [{ path: ["pii", "redact"], message }];
  }
  const known = countriesWith("national_id");
  return countries.flatMap((country, index) =>
    known.includes(country)
      ? []
      : {
          path: ["pii", "countries", index],
          message: `national ids of ${country} are not known; remove it, or national_id from \`redact\` (known: ${known.join(" ")})`,
        },
  );
}

function firstProblem(problems: readonly Problem[], source: YamlSource, file: string): ConfigurationError {
  const located = problems
    .slice(0, MAX_PROBLEMS)
    .map((problem) => ({ ...problem, line: source.lineOf(problem.path) }));
  const first = located.reduce((a, b) => (b.line < a.line ? b : a));
  const path = renderPath(first.path);
  return new ConfigurationError(
    "invalid",
    `${file}:${first.line}: ${path === "" ? "the file" : path}: ${first.message}`,
  );
}

/** Gives settings the names and units of the code, resolves paths, and derives the defaults that depend on the machine. */
function buildConfiguration(
  settings: Settings,
  { secrets: expandedSecrets, unsetIn }: ExpandedFile,
  source: YamlSource,
  { file, directory, environment }: ParseOptions,
): Configuration {
  const { tools, pii, sandbox, sessions, limits } = settings;
  const execution = plain(settings.execution);
  const placeOf = (path: readonly PropertyKey[]) =>
    `${file ?? "configuration"}:${source.lineOf(path)}: ${renderPath(path)}`;
  const offOf = (path: readonly PropertyKey[]) => {
    const unset = unsetIn(path);
    return unset && whyOff(unset, placeOf(unset.path));
  };
  const callTimeoutMs = execution.toolCallTimeoutMs;
  const surroundings = { directory, environment, placeOf, offOf, callTimeoutMs };
  const withheld = pii.redact.length === 0 ? undefined : { kinds: pii.redact, countries: pii.countries };
  const servers = [
    ...settings.servers.map((entry, index) => {
      const path = ["servers", index];
      return buildServer(entry, path, unsetIn(path), surroundings);
    }),
    buildLocalServer(tools.local, surroundings),
    buildModelServer(settings.extract, withheld, surroundings),
  ].filter((server) => server !== undefined);
  const models = buildSearch(settings.search, surroundings);
  const storage = buildStorage(settings.storage, surroundings);
  const http = buildHttp(settings.http, surroundings);
  const notify = buildNotify(settings.notify, surroundings);
  const interceptors = buildInterceptors(settings.interceptors, surroundings);
  const patternsOf = (entries: readonly string[]) =>
    entries.map((entry) => directPattern(entry, servers) ?? entry);
  const direct = patternsOf(settings.direct.tools);
  const toolsets = mapValues(settings.toolsets, patternsOf);
  const distinct = (of: typeof secretsOf) =>
    distinctSecrets(
      [
        ...[...expandedSecrets, ...servers.flatMap(startedServers).flatMap(of), ...models.secrets],
        ...[
          ...storageSecrets(storage),
          ...httpSecrets(http),
          ...notifySecrets(notify),
          ...interceptorSecrets(interceptors),
          ...inheritedSecrets(environment),
        ],
      ],
      environment,
    );
  return {
    file,
    directory,
    servers,
    tools: { allow: tools.allow, block: tools.block },
    approvals: plain(settings.approvals),
    languages: settings.languages,
    policy: readPolicy(
      settings.policy,
      directory,
      `${file ?? "configuration"}:${source.lineOf(["policy", "files"])}`,
    ),
    labels: settings.labels,
    lists: readLists(
      settings.lists ?? {},
      directory,
      (name) => `${file ?? "configuration"}:${source.lineOf(["lists", name])}`,
    ),
    pii: withheld,
    toolPatterns: locatePatterns({ ...settings, direct, toolsets }, isShortDirect(source.value), source),
    flowNames: locateFlowNames(settings, source),
    execution: {
      ...execution,
      maxReplyBytes: Math.min(execution.maxReplyBytes, execution.maxOutputBytes),
      maxParallelPrograms:
        execution.maxParallelPrograms ?? defaultParallelPrograms(thisMachine(), execution.memoryMb),
    },
    limits: {
      together: plain(limits.together),
      each: plain(limits.each),
      groups: mapValues(limits.groups, (group) => ({
        together: plain(group.together),
        each: plain(group.each),
      })),
      principals: mapValues(limits.principals, (use) => plain(use)),
    },
    sandbox: {
      ...plain(sandbox),
      engine: sandbox.engine ?? engineOf(environment),
      maxWarm: Math.max(sandbox.warm, sandbox.max_warm ?? defaultCeiling(thisMachine())),
    },
    host: plain(settings.host),
    sessions: sessions && plain(sessions),
    registry: settings.registry && fileOrUrl(settings.registry, directory),
    learn: settings.learn,
    discovery: settings.discovery,
    direct,
    interceptors,
    toolsets,
    directRuns: settings.direct.runs,
    audit: plain(settings.audit),
    search: models.search,
    archive: { ...plain(settings.archive), path: resolve(directory, settings.archive.path) },
    storage,
    http,
    notify,
    managed: [],
    held: [],
    secrets: distinct(secretsOf),
    credentials: distinct(credentialsOf),
  };
}

/** A URL as it is, or the absolute path of a file. */
function fileOrUrl(value: string, directory: string): string {
  return /^https?:\/\//i.test(value) ? value : resolve(directory, value);
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  to: (from: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(value)]));
}

/** The engine that the environment names. @throws ConfigurationError */
function engineOf({ PTC_ENGINE: named = "" }: EnvironmentVariables): EngineChoice {
  const choices = ["auto", ...ENGINE_NAMES] as const;
  const found = choices.find((choice) => choice === (named || "auto"));
  if (found !== undefined) return found;
  throw new ConfigurationError("invalid", `PTC_ENGINE: must be one of ${choices.join(", ")}, not '${named}'`);
}

/** Says which variables are missing. @param place the place of the first value that needs one. */
function whyOff({ names }: UnsetVariables, place: string): string {
  const [first = ""] = names;
  const are = names.size === 1 ? "is" : "are";
  const what = `${[...names].join(", ")} ${are} not set in the environment (${place})`;
  return `${what}; set ${names.size === 1 ? "it" : "them"} where ptc is started, or write \${${first}:-default}`;
}

/** The machine on which ptc runs. */
export function thisMachine(): Machine {
  return { cores: availableParallelism(), memoryBytes: totalmem() };
}

/**
 * How many programs run at the same time by default: two for each core, because programs mostly wait for tools, but no more than fit
 * into half the memory. At least 1, at most 32.
 *
 * @param memoryMb the most memory of one program
 */
export function defaultParallelPrograms({ cores, memoryBytes }: Machine, memoryMb: number): number {
  const inMemory = Math.floor((memoryBytes * MEMORY_SHARE) / (memoryMb * BYTES_PER_MB));
  return Math.max(1, Math.min(cores * PROGRAMS_PER_CORE, inMemory, MAX_PROGRAMS));
}
