import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { ArchiveError } from "../../archive/archive-error.ts";
import { messageOf } from "../../base/faults.ts";
import { decodeFile } from "../../base/file-text.ts";
import { isObject } from "../../base/json.ts";
import { countNoun } from "../../base/quantities.ts";
import { listUpTo, oneLine } from "../../base/visible-text.ts";
import { SandboxConnection } from "../../broker/sandbox-connection.ts";
import { CatalogError } from "../../catalog/catalog-error.ts";
import { renderOffer } from "../../catalog/parse-tool.ts";
import { readCatalog } from "../../catalog/store/catalog-file.ts";
import { storedServers } from "../../catalog/store/stored-catalog.ts";
import { describeTwice, findPtcInClaude } from "../../configuration/clients/claude-code.ts";
import { findClientFiles } from "../../configuration/clients/clients.ts";
import { findDoubles, serversWrittenIn } from "../../configuration/clients/take-over.ts";
import type {
  Configuration,
  LocalServerConfiguration,
  ServerConfiguration,
} from "../../configuration/configuration.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import type { FindOptions } from "../../configuration/configuration-paths.ts";
import { projectFolder } from "../../configuration/configuration-paths.ts";
import { secretSourcesOf, valuesOf, whyNoServers } from "../../configuration/configured-servers.ts";
import { findConfiguration, loadConfiguration } from "../../configuration/load.ts";
import type { ManagedSettings } from "../../configuration/managed-settings.ts";
import { describePlace } from "../../configuration/server-sandbox.ts";
import { generatedDirectory } from "../../generation/generated-modules.ts";
import { UnlistedServers } from "../../generation/unlisted-servers.ts";
import { runnerOf, uncheckedLanguages } from "../../languages/languages.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import { doubtAbout, type NeededImage, requireNeeded } from "../../sandbox/image/needed-image.ts";
import type { EngineDescription, EnginePart, OpenEngine } from "../../sandbox/sandbox-engine.ts";
import { SandboxStarter, type StarterOptions } from "../../sandbox/sandbox-starter.ts";
import { inheritedEnvironment } from "../../secrets/inherited-environment.ts";
import { whyNotRedacted } from "../../secrets/redaction-secrets.ts";
import { placeOfRuns } from "../../storage/storage.ts";
import { nodeRange, version } from "../../system/package.ts";
import { type OwnProcess, openState } from "../../system/state-directory.ts";
import { loadProgramTools } from "../../tools/program-tools.ts";
import { isOwnVariable, variablesOf, whyNoProgram } from "../../upstream/local/local-tool.ts";
import { type SecretKeyring, type SecretSource, SecretSourceError } from "../../upstream/secret-source.ts";
import { type SecretSources, whyFileIsOpen } from "../../upstream/secret-sources.ts";
import type { UpstreamPool } from "../../upstream/upstream-pool.ts";
import { LOCAL_USER } from "../local-user.ts";
import { Project } from "../open-project.ts";
import { sandboxOptions, USUAL_SANDBOX } from "../sandboxes/sandboxes.ts";
import { composeUpstreams } from "../servers/upstreams.ts";

/** The longest name or version of a server that is shown. */
const MAX_NAME_CHARS = 100;
const MAX_LISTED_CHARS = 200;

/** The result of trying one part that ptc needs. */
export interface Finding {
  area: "ptc" | "configuration" | "sandbox" | "servers";
  part: string;
  ok: boolean;
  /** Set where the part works, and the detail is something to know or to do all the same. */
  note?: true;
  /** The result. For a failure it says what to do. */
  detail: string;
}

export interface ExamineOptions extends FindOptions {
  /** The principal for whom servers are tried; by default the person at this machine. */
  principal?: string;
  /** The engine that starts sandboxes. Defaults to Docker's. */
  engine?: OpenEngine;
  /** The keyring for `{ keyring: NAME }`. Defaults to the user's keyring. */
  keyring?: SecretKeyring;
  /** Receives a line about a server that takes long to start. */
  onWarning?: (message: string) => void;
}

/**
 * Tries every part that ptc needs: the configuration, the engine and a real sandbox, and every server. A part is tried only
 * when the parts that it needs work. Without a configuration file the default sandbox is tried, and no server.
 *
 * @throws SandboxError when the folder for this process's files cannot be made. Every other failure is a finding.
 */
export async function* examine(options: ExamineOptions): AsyncGenerator<Finding> {
  yield {
    area: "ptc",
    part: "ptc",
    ok: true,
    detail: version,
  };
  yield {
    area: "ptc",
    part: "node",
    ok: true,
    detail: `${process.version}, ${process.execPath} (needed: ${nodeRange})`,
  };
  const configuration = yield* examineConfiguration(options);
  const twice = describeTwice(findPtcInClaude(options.env, options.cwd));
  if (twice !== undefined) yield note("ptc", "Claude Code", twice);
  if (configuration !== undefined) yield* examineClients(options);
  const { principal = LOCAL_USER.principal } = options;
  const own = openState(options.env);
  const project = configuration && projectOf(configuration, { ...options, own });
  try {
    if (project !== undefined) yield await examineArchive(project);
    const runners = [...new Set((configuration?.languages ?? []).map(runnerOf))];
    yield* examineSandbox(
      await settle(sandboxOptions(configuration ?? USUAL_SANDBOX, own, options.engine)),
      runners,
    );
    if (configuration === undefined || project === undefined) return;
    const read = new Map<string, string>();
    const onRead = ({ place }: SecretSource, secret: string) => void read.set(place, secret);
    const { pool, secrets } = composeUpstreams(project, { onRead, engine: options.engine });
    yield* examineServers(configuration, principal, pool);
    for (const { tool, problem } of await examineLocalTools(configuration.servers, secrets.sources))
      yield { area: "servers", part: `tools.local ${tool}`, ok: false, detail: problem };
    await pool.close();
    yield* examineDirectTools(configuration, principal);
    const plain = unredactedSources(configuration, read);
    if (plain.length > 0) yield note("servers", "redaction", plain.join("; "));
  } finally {
    await project?.close();
    own.state.remove();
  }
}

function projectOf(
  configuration: Configuration,
  { env, keyring, onWarning = () => {}, own }: Omit<ExamineOptions, "principal"> & { own?: OwnProcess },
): Project {
  return new Project(configuration, { env, keyring, onWarning, own });
}

/** Reports clients that have servers of ptc.yaml beside ptc. */
async function* examineClients(options: FindOptions): AsyncGenerator<Finding> {
  const found = await findConfiguration(options).catch(() => undefined);
  if (found === undefined) return;
  const servers = serversWrittenIn(found.text);
  const project = projectFolder(options);
  for (const file of findClientFiles(options.env, project)) {
    if (file.pluginRoot !== undefined) continue;
    const text = await readFile(file.path).then(decodeFile, () => "");
    const names = (await findDoubles(file, text, { servers, project })).map(({ name }) => oneLine(name));
    if (names.length === 0) continue;
    const detail = `has ${listUpTo([...new Set(names)], MAX_LISTED_CHARS)} beside ptc (${file.path}), so that a model sees each tool twice: \`ptc install --take-over\` takes them out`;
    yield note("ptc", file.client, detail);
  }
}

async function* examineConfiguration(
  options: FindOptions,
): AsyncGenerator<Finding, Configuration | undefined> {
  const area = "configuration";
  try {
    const configuration = await loadConfiguration(options);
    const { file, servers } = configuration;
    const off = servers.filter((server) => server.off !== undefined).length;
    if (file === undefined) yield note(area, "configuration", "none here; `ptc.yaml` names your servers");
    else {
      const detail = `${file}, ${countNoun(servers.length, "server")}${off > 0 ? `, ${off} of them off` : ""}`;
      yield { area, part: "configuration", ok: true, detail };
    }
    for (const managed of configuration.managed)
      yield { area, part: "managed settings", ok: true, detail: describeManaged(managed) };
    for (const held of configuration.held) yield note(area, "managed settings", held);
    const plain = unredacted(configuration);
    if (plain.length > 0) yield note(area, "redaction", plain.join("; "));
    const open = await openSecretFiles(configuration);
    const { languages, execution, sandbox } = configuration;
    const { engine, pythonPackages } = sandbox;
    if (engine === "wasm" && languages.includes("python") && pythonPackages.length > 0)
      yield note(area, "packages", `sandbox.python_packages: ${NO_PACKAGES}`);
    const unchecked = execution.typecheck === "off" ? [] : await uncheckedLanguages(languages);
    if (unchecked.length > 0) yield note(area, "type check", unchecked.join("; "));
    if (open.length > 0) yield note(area, "secrets", open.join("; "));
    return configuration;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    yield { area, part: "configuration", ok: false, detail: error.message };
    return undefined;
  }
}

/** Names the file of managed settings, and the sections that it sets. */
function describeManaged({ file, ...sections }: ManagedSettings): string {
  const says = (value: unknown): boolean =>
    Array.isArray(value)
      ? value.length > 0
      : isObject(value)
        ? Object.entries(value).some(([key, each]) => says(each) || (key === "allow" && each !== undefined))
        : value !== undefined;
  const said = Object.entries(sections).flatMap(([name, section]) => (says(section) ? [name] : []));
  return `${file} is in force: ${said.join(", ") || "it says nothing"}`;
}

/** Tests whether runs can be archived. Without the archive programs still run, but cannot be replayed. */
async function examineArchive({ configuration, runs }: Project): Promise<Finding> {
  const about = { area: "ptc", part: "archive" } as const;
  try {
    await runs.tryWriting();
    const has = (await runs.exists()) ? "" : ", made by the first run";
    return { ...about, ok: true, detail: `${placeOfRuns(configuration)}${has}` };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    return { ...about, ok: false, detail: `runs are not archived: ${error.message}` };
  }
}

/** Files of secrets that others may read too. */
async function openSecretFiles({ servers }: Configuration): Promise<string[]> {
  const files = servers.flatMap((server) =>
    secretSourcesOf(server).flatMap(({ key, source }) =>
      source.from === "file" ? [{ path: source.path, whose: `${key} of server '${server.name}'` }] : [],
    ),
  );
  const found = await Promise.all(
    files.map(async ({ path, whose }) => {
      const why = await whyFileIsOpen(path);
      return why === undefined ? [] : [`${path}, which holds ${whose}, ${why}`];
    }),
  );
  return found.flat();
}

/** Credentials that are not redacted: the name and the reason of each, never the value. */
function unredacted({ servers, credentials }: Configuration): string[] {
  return servers.flatMap((server) => {
    return Object.entries(valuesOf(server)).flatMap(([name, value]) => {
      const why = credentials.includes(value) ? whyNotRedacted(value, true) : undefined;
      return why === undefined ? [] : [`${name} of server '${server.name}' ${why}`];
    });
  });
}

/** Secrets that were read but are not redacted: the name and the reason of each. @param read the secrets by place. */
function unredactedSources({ servers }: Configuration, read: ReadonlyMap<string, string>): string[] {
  return servers.flatMap((server) =>
    secretSourcesOf(server).flatMap(({ key, source }) => {
      const secret = read.get(source.place);
      const why = secret === undefined ? undefined : whyNotRedacted(secret, true);
      return why === undefined ? [] : [`${key} of server '${server.name}' ${why}`];
    }),
  );
}

/** The options for starting sandboxes, and why this engine is used. */
type SettledOptions = StarterOptions & {
  needed: NeededImage;
  why?: string | undefined;
  described?: EngineDescription | undefined;
};

/** The options with the engine that is actually used, if the choice was still open. */
async function settle(options: Omit<SettledOptions, "why" | "described">): Promise<SettledOptions> {
  return { ...options, ...(await options.engine.settled?.()) };
}

const NO_PACKAGES =
  "programs have none of them with the engine wasm, only Python's standard library; an engine with gVisor has them (docs/engines.md)";

/** The exit code of a guard that cannot start its runner. */
const NOT_FOUND = 127;

/**
 * Tries the engine, gVisor, the image and a real sandbox in this order, up to the first that fails.
 *
 * @param runners the runners that programs need, each in its own sandbox; by default the usual one.
 */
async function* examineSandbox(
  options: SettledOptions,
  runners: readonly RunnerName[],
): AsyncGenerator<Finding> {
  const [first, ...others] = runners;
  let isWhole = true;
  for await (const part of engineParts(options, runners)) {
    yield { area: "sandbox", ...part };
    isWhole &&= part.ok;
  }
  if (!isWhole) return;
  const checks: EngineCheck[] = [
    ...engineChecks(options),
    [IMAGE_NOTE, () => doubtImage(options)],
    ["platform", () => measurePlatforms(options)],
    ["snapshot", () => describeSnapshot({ ...options, ...(first && { runner: first }) })],
    ["sandbox", () => trySandbox({ ...options, ...(first && { runner: first }) })],
    ...others.map((runner): [string, () => Promise<string>] => [
      `sandbox (${runner})`,
      () => trySandbox({ ...options, runner }),
    ]),
  ];
  for (const [part, check] of checks) {
    const finding = await check().then(
      (detail) => ({ ok: true, detail }),
      (error: unknown) => ({ ok: false, detail: messageOf(error) }),
    );
    // A part that the engine does not have.
    if (finding.detail === undefined) continue;
    yield part === IMAGE_NOTE
      ? note("sandbox", "image", finding.detail)
      : { area: "sandbox", part, ok: finding.ok, detail: finding.detail };
    if (!finding.ok) return;
  }
}

/** The check of the image that finds no fault, but what is to be known. */
const IMAGE_NOTE = "note on the image";

async function doubtImage({ engine, image, needed }: SettledOptions): Promise<string | undefined> {
  const found = await engine.findImage(image);
  return found && doubtAbout(needed, found);
}

async function measurePlatforms({ engine, image, owner }: StarterOptions): Promise<string | undefined> {
  const found = await engine.findImage(image);
  // What cannot be measured is no fault of a part: the sandbox is tried next.
  return found && engine.measurePlatforms?.({ image: found.digest, owner }).catch(() => undefined);
}

async function describeSnapshot({
  engine,
  image,
  runner = "javascript",
  ...request
}: StarterOptions): Promise<string | undefined> {
  const found = await engine.findImage(image);
  return found && engine.describeSnapshot?.({ ...request, runner, image: found.digest });
}

/** @throws Error that says what to do if the image cannot run such programs. */
async function trySandbox(options: StarterOptions): Promise<string> {
  const sandbox = await new SandboxStarter(options).acquire({ onStdout() {}, onStderr() {} });
  try {
    const connection = new SandboxConnection(
      sandbox.channel,
      { maxParallelCalls: 1, maxToolCalls: 1 },
      () => {
        throw new Error("nothing is called here");
      },
    );
    const { language, runtime } = await connection.ready.catch(async (error: unknown) => {
      const exit = await sandbox.exited.catch(() => undefined);
      if (exit?.code !== NOT_FOUND) throw error;
      throw new Error(
        `the image's base has nothing that runs ${options.runner}: run \`ptc image build\` without --base`,
      );
    });
    const isNobody = await options.engine.keepsKernelUnprivileged?.(sandbox.id);
    const kernel =
      isNobody === undefined
        ? ""
        : isNobody
          ? "; gVisor's kernel is nobody on this machine"
          : `; gVisor's kernel is root on this machine: ${options.engine.advice.walls.sentry}`;
    return `starts and answers, ${language} on ${oneLine(runtime)}${kernel}`;
  } finally {
    await sandbox.dispose();
  }
}

/** Lists all servers at once, and reports the findings in the order of the servers. */
async function* examineServers(
  { servers, sandbox }: Configuration,
  principal: string,
  pool: UpstreamPool,
): AsyncGenerator<Finding> {
  const findings = servers.map(async (server): Promise<Finding> => {
    const { name } = server;
    const about = { area: "servers", part: `server ${name}` } as const;
    try {
      const listing = await pool.get(principal, name)?.list();
      if (listing === undefined) return { ...about, ok: false, detail: "is not configured" };
      const { implementation, protocolVersion, tools } = listing;
      const own = oneLine(`${implementation.name} ${implementation.version}`, MAX_NAME_CHARS);
      const place = describePlace(server, sandbox.servers);
      const detail = `${own}, ${renderOffer(tools)}, MCP ${protocolVersion}${place === undefined ? "" : `, ${place}`}`;
      return { ...about, ok: true, detail };
    } catch (error) {
      return { ...about, ok: false, detail: messageOf(error) };
    }
  });
  for (const finding of findings) yield await finding;
}

/** Reports which tools of the catalog are listed to clients, and what they cost. */
async function* examineDirectTools(configuration: Configuration, principal: string): AsyncGenerator<Finding> {
  const about = { area: "servers", part: "direct tools" } as const;
  try {
    const view = (await loadProgramTools(configuration)).callableFor({ principal });
    if (view.names().length === 0) return;
    const { chooseDirectTools, describeDirect } = await import("../../tools/direct-tools.ts");
    const chosen = chooseDirectTools(view, configuration);
    yield { ...about, ok: true, detail: describeDirect(chosen, configuration) };
  } catch (error) {
    if (!(error instanceof CatalogError || error instanceof ConfigurationError)) throw error;
    yield { ...about, ok: false, detail: error.message };
  }
}

/** Why a tool of `tools.local` cannot be called. */
interface LocalToolProblem {
  tool: string;
  problem: string;
}

/** Tests whether the commands of local tools exist and their secrets can be read. Runs no tool. */
async function examineLocalTools(
  servers: readonly ServerConfiguration[],
  sources: Pick<SecretSources, "read">,
): Promise<LocalToolProblem[]> {
  const locals = servers.flatMap((server) => (server.transport === "local" ? [server] : []));
  const found = await Promise.all(
    locals.flatMap((server) => server.localTools.map((tool) => examineTool(server, tool, sources))),
  );
  return found.flat();
}

async function examineTool(
  { env, secretSources }: LocalServerConfiguration,
  tool: LocalServerConfiguration["localTools"][number],
  sources: Pick<SecretSources, "read">,
): Promise<LocalToolProblem[]> {
  if (tool.off !== undefined) return [{ tool: tool.name, problem: `is off: ${tool.off}` }];
  const { PATH } = { ...inheritedEnvironment(), ...variablesOf(tool.name, env) };
  const own = Object.entries(secretSources).filter(([key]) => isOwnVariable(tool.name, key));
  const problems = await Promise.all([
    whyNoProgram(tool, PATH),
    ...own.map(async ([, source]) => {
      try {
        await sources.read(source, new AbortController().signal);
        return undefined;
      } catch (error) {
        if (error instanceof SecretSourceError) return `${source.place}: ${error.message}`;
        throw error;
      }
    }),
  ]);
  return problems.flatMap((problem) => (problem === undefined ? [] : [{ tool: tool.name, problem }]));
}

const MAX_NAMES_CHARS = 200;
const MAX_REASONS_CHARS = 600;

/**
 * The first problem that would keep a program from running or from being archived, as far as that is known without starting a sandbox
 * or a server; `undefined` if there is none. A folder without a configuration does not use ptc, so it has no problem.
 *
 * @throws SandboxError when the folder for this process's files cannot be made.
 */
export async function examineQuickly(
  options: FindOptions & Pick<ExamineOptions, "engine">,
): Promise<Finding | undefined> {
  let configuration: Configuration;
  try {
    configuration = await loadConfiguration(options);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return wrong("configuration", "configuration", error.message);
  }
  if (configuration.file === undefined) return undefined;
  const nothing = whyNoServers(configuration);
  if (nothing !== undefined) return wrong("configuration", "configuration", nothing);
  // The engine answers while the modules are read.
  const engine = examineEngine(configuration, options);
  engine.catch(() => {});
  const modules = await examineModules(configuration, options.env);
  const missing = modules.ungenerated ?? (await engine);
  await engine.catch(() => {});
  if (missing !== undefined) return missing;
  const project = projectOf(configuration, options);
  const archive = await examineArchive(project).finally(() => project.close());
  return archive.ok ? modules.unlisted : archive;
}

/**
 * Servers without modules: those that `ptc generate` has not tried as they are configured, and those that it could not list. For the
 * second kind the reason is what helps, and programs over the other servers run all the same.
 */
export async function examineModules(
  configuration: Configuration,
  env: ExamineOptions["env"],
): Promise<{ ungenerated?: Finding; unlisted?: Finding; known: number }> {
  const directory = generatedDirectory(configuration);
  try {
    const stored = await readCatalog(directory);
    const known = new Set(stored === undefined ? [] : storedServers(stored).map(({ name }) => name));
    const unknown = configuration.servers.filter(({ name, off }) => off === undefined && !known.has(name));
    const reasons = new UnlistedServers(directory, env).read(fileOf(configuration));
    const untried = unknown.filter(({ name }) => !reasons.has(name)).map(({ name }) => `'${name}'`);
    if (untried.length > 0) {
      const names = listUpTo(untried, MAX_NAMES_CHARS);
      return {
        known: known.size,
        ungenerated: wrong(
          "servers",
          "modules",
          `the tools of ${names} are not known yet; run \`ptc generate\``,
        ),
      };
    }
    const failed = unknown.map(({ name }) => reasons.get(name) ?? "");
    if (failed.length === 0) return { known: known.size };
    const others = known.size > 0 ? "the other servers work; " : "";
    return {
      known: known.size,
      unlisted: wrong(
        "servers",
        "modules",
        `${listUpTo(failed, MAX_REASONS_CHARS)} (${others}once that is mended, \`ptc generate\` adds ${failed.length === 1 ? "its" : "their"} tools)`,
      ),
    };
  } catch (error) {
    return { known: 0, ungenerated: wrong("servers", "modules", messageOf(error)) };
  }
}

/** The configuration file's absolute path. */
function fileOf({ file, directory }: Configuration): string | undefined {
  return file && join(directory, basename(file));
}

/** The first part of the engine that is wrong, of those that need no sandbox. The image is the last of them. */
export async function examineEngine(
  configuration: Configuration,
  { env, engine }: Pick<ExamineOptions, "env" | "engine">,
): Promise<Finding | undefined> {
  const own = openState(env);
  try {
    const settled = await settle(sandboxOptions(configuration, own, engine));
    const runners = [...new Set(configuration.languages.map(runnerOf))];
    for await (const { part, ok, detail } of engineParts(settled, runners))
      if (!ok) return wrong("sandbox", part, detail);
    for (const [part, check] of engineChecks(settled, { isShown: false })) {
      try {
        await check();
      } catch (error) {
        return wrong("sandbox", part, messageOf(error));
      }
    }
    return undefined;
  } finally {
    own.state.remove();
  }
}

function wrong(area: Finding["area"], part: string, detail: string): Finding {
  return { area, part, ok: false, detail };
}

/** Something to know about a part that works. */
function note(area: Finding["area"], part: string, detail: string): Finding {
  return { area, part, ok: true, note: true, detail };
}

const RUNTIME_PATIENCE_MS = 5_000;

/** One part of the engine with its check, which resolves with the result or rejects with what to do. */
type EngineCheck = [part: string, check: () => Promise<string | undefined>];

/** What an engine says of its own parts, where it has several. */
async function* engineParts(
  { engine, runtime, limits }: SettledOptions,
  runners: readonly RunnerName[],
): AsyncGenerator<EnginePart> {
  const wanted: readonly RunnerName[] = runners.length > 0 ? runners : ["javascript"];
  if (engine.examine !== undefined) yield* engine.examine({ runtime, limits, runners: wanted });
}

/**
 * The checks of an engine that need no sandbox. Each needs those before it. They ask the engine once what it is.
 *
 * @param isShown whether somebody reads what is found where all is well, such as the runtime's version.
 */
function engineChecks(
  {
    engine,
    runtime,
    image,
    needed,
    why,
    described,
  }: Pick<SettledOptions, "engine" | "runtime" | "image" | "needed" | "why" | "described">,
  { isShown = true } = {},
): EngineCheck[] {
  let asked = described && Promise.resolve(described);
  const describe = () => {
    asked ??= engine.describe();
    return asked;
  };
  const channelAndImage: EngineCheck[] = [
    [
      "channel",
      async () => {
        const { runtimes } = await describe();
        const channel = runtimes.get(runtime)?.channel;
        return channel === undefined ? undefined : `${channel.kind}: ${channel.why}`;
      },
    ],
    [
      "image",
      async () => {
        const found = requireNeeded(needed, await engine.findImage(image));
        const packages =
          needed.pythonPackages.length === 0 ? "" : `, with ${needed.pythonPackages.join(", ")}`;
        return `${image}${packages}, which this project needs, ${found.digest.slice(0, 19)}`;
      },
    ],
  ];
  // Such an engine has said the rest part by part.
  if (engine.examine !== undefined) return channelAndImage;
  return [
    ["engine", async () => why && `${engine.name}: ${why}`],
    [
      engine.name.toLowerCase(),
      async () => {
        const { version: engineVersion, endpoint } = await describe();
        return `${engineVersion}, ${endpoint}`;
      },
    ],
    [
      engine.platform === "wasm" ? "wall" : "gvisor",
      async () => {
        const { runtimes } = await describe();
        const known = runtimes.get(runtime);
        if (known === undefined)
          throw new Error(`${engine.name} has no runtime '${runtime}'; ${engine.advice.missingRuntime}`);
        if (known.problem !== undefined) throw new Error(`runtime '${runtime}' ${known.problem}`);
        if (engine.platform === "wasm")
          return "an interpreter in a process of this user, without a kernel of its own: weaker than gVisor (docs/engines.md)";
        return isShown ? `runtime '${runtime}', ${await runtimeVersion(known.path)}` : undefined;
      },
    ],
    ...channelAndImage,
  ];
}

async function runtimeVersion(path: string | undefined): Promise<string> {
  try {
    const options = { timeout: RUNTIME_PATIENCE_MS };
    const { stdout } = await promisify(execFile)(path || "runsc", ["--version"], options);
    return stdout.split("\n")[0]?.trim() ?? "";
  } catch {
    return "version unknown";
  }
}
