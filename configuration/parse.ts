import { resolve } from "node:path";
import type * as z from "zod";
import { similarNames } from "../catalog/search/similar-names.ts";
import { serverModule } from "../protocol/tools/tool-name.ts";
import { defaultCeiling } from "../sandbox/pool/pool-policy.ts";
import { inheritedSecrets } from "../secrets/inherited-environment.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import type { Configuration, ServerConfiguration } from "./configuration.ts";
import { ConfigurationError, type Problem } from "./configuration-error.ts";
import { directPattern, findDirectProblems } from "./direct-entries.ts";
import { credentialsOf, secretsOf } from "./entry-secrets.ts";
import { distinctSecrets } from "./expand-environment.ts";
import { buildModelServer, findExtractProblems } from "./extract-settings.ts";
import { buildLocalServer, findLocalToolProblems } from "./local-tools.ts";
import { defaultParallelPrograms, thisMachine } from "./parallel-programs.ts";
import { readPolicy } from "./policy-file.ts";
import { ConfigurationFile, knownKeys, type ServerEntry } from "./schema.ts";
import { buildSearch, findSearchProblems } from "./search-settings.ts";
import type { SecretValueEntry } from "./secret-value.ts";
import { buildAuth } from "./server-auth.ts";
import { expandServers, findServerProblems, transportOf, type UnsetVariables } from "./server-entries.ts";
import { findSettingProblems } from "./setting-problems.ts";
import { type SecretSurroundings, splitSecretValues } from "./split-secret-values.ts";
import { locatePatterns, renderPath } from "./tool-patterns.ts";
import { MAX_CONFIGURATION_BYTES, YamlSource } from "./yaml-source.ts";

const MEBIBYTE = 1024 * 1024;
const DEFAULT_CONNECT_TIMEOUT_SECONDS = 30;

/** The most problems that are collected. Only the first in the file is reported. */
const MAX_PROBLEMS = 50;

export interface ParseOptions {
  /** How messages name the file; `undefined` when there is none. */
  file: string | undefined;
  /** The absolute path against which relative paths are resolved. */
  directory: string;
  environment: EnvironmentVariables;
}

/**
 * Reads the text of a ptc.yaml.
 *
 * @throws ConfigurationError naming the first line that is wrong.
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
  const expanded = expandServers(source, options.environment);
  const parsed = ConfigurationFile.safeParse(expanded.value);
  const problems = [...expanded.problems];
  if (parsed.success)
    problems.push(
      ...findServerProblems(parsed.data.servers, expanded.unset),
      ...findLocalToolProblems(parsed.data.tools.local, parsed.data.servers, expanded.unsetLocal),
      ...findExtractProblems(parsed.data.extract, parsed.data.servers, expanded.unsetExtract),
      ...findDirectProblems(parsed.data),
      ...findSettingProblems(parsed.data),
      ...findSearchProblems(parsed.data.search, options.environment),
    );
  else problems.push(...parsed.error.issues.slice(0, MAX_PROBLEMS).flatMap(problemsOf));
  if (problems.length > 0) throw firstProblem(problems, source, file);
  if (!parsed.success) throw new ConfigurationError("invalid", `${file}:1: cannot be read`);
  return buildConfiguration(parsed.data, expanded, source, options);
}

function problemsOf(issue: z.core.$ZodIssue): Problem[] {
  if (issue.code !== "unrecognized_keys") return [{ path: issue.path, message: issue.message }];
  const known = knownKeys(issue.path);
  return issue.keys.slice(0, MAX_PROBLEMS).map((key) => {
    const [nearest] = similarNames(key, known, 1);
    const advice = nearest === undefined ? `known here: ${known.join(", ")}` : `did you mean '${nearest}'?`;
    return { path: [...issue.path, key], message: `is not a known key; ${advice}` };
  });
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

function buildConfiguration(
  {
    servers,
    tools,
    policy,
    pii,
    approvals,
    languages,
    execution,
    sandbox,
    host,
    learn,
    audit,
    search,
    archive,
    sessions,
    extract,
    discovery,
    direct: directEntries,
  }: ConfigurationFile,
  { secrets: expandedSecrets, unset, unsetLocal, unsetExtract }: ReturnType<typeof expandServers>,
  source: YamlSource,
  { file, directory, environment }: ParseOptions,
): Configuration {
  const offOf = (missing: UnsetVariables | undefined) =>
    missing && whyOff(missing, `${file ?? "configuration"}:${source.lineOf(missing.path)}`);
  const placeOf = (path: readonly PropertyKey[]) =>
    `${file ?? "configuration"}:${source.lineOf(path)}: ${renderPath(path)}`;
  const callTimeoutSeconds = execution.tool_call_timeout_seconds;
  const entered = servers.map((entry, index) => {
    const missing = unset.get(index);
    const known = missing === undefined ? entry : withoutTexts(entry, missing.texts);
    return buildServer(known, callTimeoutSeconds, {
      directory,
      environment,
      off: offOf(missing),
      placeOf: (path) => placeOf(["servers", index, ...path]),
    });
  });
  const local = buildLocalServer(tools.local, {
    callTimeoutSeconds,
    directory,
    environment,
    placeOf,
    offOf: (index) => offOf(unsetLocal.get(index)),
  });
  const withheld = pii.redact.length === 0 ? undefined : { kinds: pii.redact, countries: pii.countries };
  const model = buildModelServer(extract, {
    pii: withheld,
    directory,
    environment,
    placeOf: (path) => placeOf(["extract", ...path]),
    off: offOf(unsetExtract),
  });
  const built = [...entered, ...(local ? [local] : []), ...(model ? [model] : [])];
  const models = buildSearch(search, { directory, environment, placeOf });
  const direct = directEntries.map((entry) => directPattern(entry, built) ?? entry);
  const distinct = (of: typeof secretsOf) =>
    distinctSecrets(
      [...expandedSecrets, ...built.flatMap(of), ...models.secrets, ...inheritedSecrets(environment)],
      environment,
    );
  return {
    file,
    directory,
    servers: built,
    tools: { allow: tools.allow, block: tools.block },
    policy: readPolicy(policy, directory, (path) => `${file ?? "configuration"}:${source.lineOf(path)}`),
    pii: withheld,
    approvals: {
      default: approvals.default,
      ask: approvals.ask,
      allow: approvals.allow,
      require: approvals.require,
      suspend: approvals.suspend,
      expireMs: approvals.expire_minutes * 60_000,
    },
    languages,
    toolPatterns: locatePatterns({ servers, tools, approvals, direct }, source),
    execution: {
      timeoutMs: execution.timeout_seconds * 1_000,
      maxOutputBytes: execution.max_output_bytes,
      maxReplyBytes: Math.min(execution.max_reply_bytes, execution.max_output_bytes),
      maxStderrBytes: execution.max_stderr_bytes,
      toolCallTimeoutMs: execution.tool_call_timeout_seconds * 1_000,
      maxParallelCalls: execution.max_parallel_calls,
      maxToolCalls: execution.max_tool_calls,
      maxParallelPrograms:
        execution.max_parallel_programs ?? defaultParallelPrograms(thisMachine(), execution.memory_mb),
      maxQueuedPrograms: execution.max_queued_programs,
      memoryMb: execution.memory_mb,
      cpus: execution.cpus,
      pids: execution.pids,
      typecheck: execution.typecheck,
      schemaMismatch: execution.schema_mismatch,
    },
    sandbox: {
      runtime: sandbox.runtime,
      allowWeakerIsolation: sandbox.allow_weaker_isolation,
      image: sandbox.image,
      warm: sandbox.warm,
      maxWarm: Math.max(sandbox.warm, sandbox.max_warm ?? defaultCeiling(thisMachine())),
      channel: sandbox.channel,
      pythonPackages: sandbox.python_packages,
    },
    host: { isOff: host.off === true, idleMs: host.idle_seconds * 1_000 },
    learn,
    discovery,
    direct,
    audit: {
      strict: audit.strict,
      maxFileBytes: audit.max_file_mb * MEBIBYTE,
      keepDays: audit.keep_days,
      syslog: audit.syslog,
      otlp: audit.otlp,
    },
    sessions: sessions && { max: sessions.max, idleMs: sessions.idle_minutes * 60_000 },
    search: models.search,
    archive: { path: resolve(directory, archive.path), keepDays: archive.keep_days },
    managed: [],
    held: [],
    secrets: distinct(secretsOf),
    credentials: distinct(credentialsOf),
  };
}

/** Says which variables are missing. @param place the file and the line of the first value that needs one. */
function whyOff({ path, names }: UnsetVariables, place: string): string {
  const [first = ""] = names;
  const are = names.size === 1 ? "is" : "are";
  const what = `${[...names].join(", ")} ${are} not set in the environment (${place}: ${renderPath(path)})`;
  return `${what}; set ${names.size === 1 ? "it" : "them"} where ptc is started, or write \${${first}:-default}`;
}

/** A server's entry without the texts that could not be expanded. They are no secrets, and nothing is started with them. */
function withoutTexts(entry: ServerEntry, texts: ReadonlySet<string>): ServerEntry {
  const known = (mapping: NonNullable<ServerEntry["env"]> = {}) =>
    Object.fromEntries(
      Object.entries(mapping).filter(([, value]) => !textsOf(value).some((each) => texts.has(each))),
    );
  return {
    ...entry,
    ...(entry.env && { env: known(entry.env) }),
    ...(entry.headers && { headers: known(entry.headers) }),
    ...(entry.args && { args: entry.args.filter((argument) => !texts.has(argument)) }),
    ...(entry.url !== undefined && { url: texts.has(entry.url) ? "" : entry.url }),
  };
}

function textsOf(value: string | SecretValueEntry): string[] {
  return typeof value === "string" ? [value] : Object.values(value).flat();
}

interface ServerSurroundings extends SecretSurroundings {
  off: string | undefined;
}

function buildServer(
  entry: ServerEntry,
  callTimeoutSeconds: number,
  { off, ...surroundings }: ServerSurroundings,
): ServerConfiguration {
  const { directory } = surroundings;
  const transport = transportOf(entry);
  const key = transport === "stdio" ? "env" : "headers";
  const { values, secretSources } = splitSecretValues(key, entry[key] ?? {}, surroundings);
  const server = {
    name: entry.name,
    module: serverModule(entry.name),
    description: entry.description,
    callTimeoutMs: (entry.call_timeout_seconds ?? callTimeoutSeconds) * 1_000,
    roots: entry.roots?.map((folder) => resolve(directory, folder)),
    connectTimeoutMs: (entry.connect_timeout_seconds ?? DEFAULT_CONNECT_TIMEOUT_SECONDS) * 1_000,
    flow: { labels: entry.labels, accepts: entry.accepts, tools: entry.tools ?? {} },
    piiAllowed: entry.pii?.allow ?? [],
    off,
    secretSources,
  };
  if (transport !== "stdio") {
    return {
      ...server,
      transport,
      url: entry.url ?? "",
      headers: values,
      auth: buildAuth(entry, surroundings),
    };
  }
  return {
    ...server,
    transport,
    command: entry.command ?? "",
    args: entry.args ?? [],
    env: values,
    cwd: resolve(directory, entry.cwd ?? "."),
  };
}
