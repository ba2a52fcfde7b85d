/**
 * Saving a program: from an archived run or a text to the files of a saved program, which are written whole or not at all. The command
 * `ptc save` and the console share it.
 */

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import { messageOf } from "../../base/faults.ts";
import { isObject, readJson } from "../../base/json.ts";
import { oneLine } from "../../base/visible-text.ts";
import { withExactNumbers } from "../../broker/exact-numbers.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import { CatalogError } from "../../catalog/catalog-error.ts";
import { inferInput, inferOutput } from "../../catalog/learned/example-schema.ts";
import { whyNoName } from "../../catalog/program-name.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import { isRemote, secretSourcesOf } from "../../configuration/configured-servers.ts";
import type { SavedRun } from "../../console/parts.ts";
import { loadReplayable } from "../../execution/replay/load-replayable.ts";
import { GeneratedFolder } from "../../generation/generated-folder.ts";
import { languageOfFile } from "../../languages/languages.ts";
import { withoutFences } from "../../languages/resolve-program.ts";
import { loginKeyOf, openLoginStore } from "../../logins/logins.ts";
import { calledByName } from "../../programs/call-by-name.ts";
import { buildExample, type Example, MAX_EXAMPLE_BYTES, renderExample } from "../../programs/example.ts";
import { type Manifest, renderManifest } from "../../programs/manifest.ts";
import {
  exampleFile,
  manifestFile,
  type ProgramFiles,
  readPrograms,
  requireSchemas,
  shownFile,
} from "../../programs/program-folder.ts";
import { programsDirectory } from "../../programs/programs-directory.ts";
import { SavedPrograms, textToCheck } from "../../programs/saved-programs.ts";
import { linkOutOf } from "../../system/link-out-of.ts";
import { lockFile } from "../../system/lock-file.ts";
import { moduleUrl, version } from "../../system/package.ts";
import { loadProgramTools } from "../../tools/program-tools.ts";
import { SecretSources } from "../../upstream/secret-sources.ts";
import type { Host } from "../host.ts";
import { LOCAL_USER } from "../local-user.ts";
import type { Project } from "../open-project.ts";

/** The files that a saved program may be in, by the name of its language. */
const SUFFIXES: Readonly<Record<string, string>> = { typescript: ".ts", javascript: ".js", python: ".py" };

/** The origin of a program to save. */
export interface ProgramOrigin {
  code: string;
  language: string;
  /** The data and the value of its run, if it was run. */
  ran?: { data: unknown; value: unknown; example: (digest: string) => Promise<Example> };
}

export interface SaveOptions {
  name: string;
  description: string | undefined;
  expose: boolean | undefined;
  /** Whether to replace a program of this name. Manual edits of its manifest are kept if they still hold. */
  force: boolean;
  /** What somebody does who wants to replace it, as the rest of a message. */
  howToReplace?: string | undefined;
}

export interface SavedFiles {
  /** The names of the written files, for messages. */
  files: string[];
  /** Notes for the user, one line each. */
  notes: string[];
}

/**
 * Reads the origin of a program from an archived run.
 *
 * @throws ArchiveError, ConfigurationError for a run from which no program can be saved.
 */
export async function originOfRun(archive: ArchiveStore, runId: string): Promise<ProgramOrigin> {
  const archived = await archive.read(runId);
  const { record, envelope } = archived;
  const { result } = envelope;
  if (archived.files.length > 0)
    throw refuse(
      `run ${runId} was handed files, which a saved program does not have; give it what it reads as data`,
    );
  if (!result.ok)
    throw refuse(
      `run ${runId} ended with ${result.error.type}; save a run that succeeded, or the program's file`,
    );
  const loaded = await loadReplayable(archive, runId);
  if (!loaded.ok)
    throw refuse(`run ${runId} cannot be replayed, and so is no example; save the program's file`);
  const name = calledByName(archived.code);
  const own = name === undefined ? undefined : findProgram(archived.modules, name);
  if (name !== undefined && own === undefined)
    throw refuse(`run ${runId} ran '${name}', whose text its record does not hold`);
  if (!isObject(archived.data))
    throw refuse(`the data of run ${runId} is no object, and the arguments of a saved program are one`);
  const value =
    archived.whole.resultJson === undefined ? result.data : (readJson(archived.whole.resultJson) as unknown);
  return {
    code: own?.code ?? withoutFences(archived.code),
    language: own?.language ?? record.language,
    ran: {
      data: archived.data,
      value,
      example: (digest) =>
        buildExample(loaded.replayable, {
          run: runId,
          ptc: version,
          started_ms: record.started_at,
          program: digest,
          by_name: name !== undefined,
          tools: record.tools,
          environment: archived.environment,
        }),
    },
  };
}

/** The text of a saved program in the record of a run. */
function findProgram(modules: ReadonlyMap<string, string>, name: string) {
  for (const suffix of Object.values(SUFFIXES)) {
    const fileName = shownFile(name + suffix);
    const code = modules.get(fileName);
    if (code !== undefined) return { code, language: languageOfFile(fileName) ?? "" };
  }
  return undefined;
}

/**
 * Saves a program: its text, its manifest and, if it was run, a recorded example. Nothing is written unless the program can be
 * bundled and its types fit the present tools.
 *
 * @param host checks the program. It must have the same configuration.
 * @throws ConfigurationError in one line, which may be long if the types are wrong.
 */
export async function saveProgram(
  project: Pick<Project, "configuration" | "env" | "keyring" | "redactor">,
  origin: ProgramOrigin,
  options: SaveOptions,
  host: Pick<Host, "check">,
): Promise<SavedFiles> {
  const { configuration } = project;
  const { name } = options;
  const reason = whyNoName(name);
  if (reason !== undefined) throw refuse(`'${name}' ${reason}`);
  findReplaced(configuration, options);
  await learnSecrets(project);
  refuseSecrets(project, origin.code);
  const notes: string[] = [];
  const suffix = SUFFIXES[origin.language] ?? ".ts";
  const manifest = await describeProgram(configuration, origin, options, suffix, notes);
  const program: ProgramFiles = {
    name,
    manifest,
    fileName: shownFile(name + suffix),
    language: origin.language,
    code: origin.code.endsWith("\n") ? origin.code : `${origin.code}\n`,
  };
  await requireSchemas(program);
  const saved = SavedPrograms.read(configuration, program);
  await requireSound(configuration, program, saved, host, notes);
  const digest = saved.find(name)?.digest ?? "";
  const example = await origin.ran?.example(digest);
  const texts = new Map([[name + suffix, program.code]]);
  if (example === undefined)
    notes.push(
      `without a run there is no example for \`ptc test\`; save a run of it with --force to add one`,
    );
  else {
    const text = renderExample(withoutSecrets(project, example));
    if (Buffer.byteLength(text) <= MAX_EXAMPLE_BYTES) texts.set(exampleFile(name), text);
    else notes.push(`the run is too large for an example (${Buffer.byteLength(text)} bytes); none is kept`);
  }
  texts.set(manifestFile(name), renderManifest(manifest));
  const link = linkOutOf(configuration.directory, programsDirectory(configuration));
  if (link !== undefined)
    throw new ConfigurationError(
      "unreadable",
      `${link} is a link that leads out of the folder of ptc.yaml, and no program was saved there: remove it`,
    );
  await whileSaving(configuration, async () => {
    // Another ptc may have saved one of this name meanwhile.
    const removed = findReplaced(configuration, options).filter((file) => !texts.has(file));
    await writeProgramFiles(programsDirectory(configuration), texts, removed);
    await updateEditors(configuration, notes);
  });
  return { files: [...texts.keys()].map(shownFile), notes };
}

/** Saves the program of a run for somebody who looks at it in the console. Never rejects. */
export async function saveForConsole(
  host: Pick<Host, "check" | "project">,
  { runId, ...asked }: { runId: string; name: string; description: string; force: boolean },
): Promise<SavedRun> {
  const description = asked.description === "" ? undefined : asked.description;
  const options = { ...asked, description, expose: undefined, howToReplace: "tick Replace to write over it" };
  try {
    const origin = await originOfRun(host.project.runs, runId);
    return await saveProgram(host.project, origin, options, host);
  } catch (error) {
    return { why: oneLine(messageOf(error), 2_000) };
  }
}

/** Writes the modules of saved programs for editors. The program stays saved even if that fails. */
async function updateEditors(configuration: Configuration, notes: string[]): Promise<void> {
  try {
    await new GeneratedFolder(configuration).updatePrograms();
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    notes.push(`what editors read of it was not written: ${error.message}`);
  }
}

/** The files that saving replaces. @throws ConfigurationError if there are some and `force` is not set. */
function findReplaced(
  configuration: Configuration,
  { name, force, howToReplace = "--force replaces it" }: SaveOptions,
): string[] {
  const files = earlierFiles(programsDirectory(configuration), name);
  if (files.length > 0 && !force)
    throw refuse(`${shownFile(files[0] ?? "")} is there already; ${howToReplace}`);
  return files;
}

/** The files of a program of this name. */
function earlierFiles(directory: string, name: string): string[] {
  const files = [
    manifestFile(name),
    ...Object.values(SUFFIXES).map((suffix) => name + suffix),
    exampleFile(name),
  ];
  return files.filter((file) => existsSync(join(directory, file)));
}

/**
 * Redacts, besides what a project has read already, what it can read without running anything: secrets in the keyring and in files, and the
 * tokens of the logins of the person at this machine. What cannot be read is passed over.
 */
async function learnSecrets({
  configuration,
  env,
  keyring,
  redactor,
}: Pick<Project, "configuration" | "env" | "keyring" | "redactor">): Promise<void> {
  const signal = new AbortController().signal;
  const sources = new SecretSources({ env, keyring, redact: (text) => text, onSpawn() {}, onExit() {} });
  const logins = openLoginStore(env, configuration);
  const learn = async (read: Promise<readonly (string | undefined)[]>) => {
    for (const secret of await read.catch(() => [])) if (secret !== undefined) redactor.add(secret);
  };
  await Promise.all(
    configuration.servers.flatMap((server) => [
      ...secretSourcesOf(server)
        .filter(({ source }) => source.from !== "command")
        .map(({ source }) => learn(sources.read(source, signal).then((secret) => [secret]))),
      ...(isRemote(server) && server.auth?.type === "oauth"
        ? [
            learn(
              logins
                .read(loginKeyOf(LOCAL_USER.principal, server))
                .then((login) => [login?.accessToken, login?.refreshToken, login?.client.secret]),
            ),
          ]
        : []),
    ]),
  );
}

/** @throws ConfigurationError for a text that holds a secret, or a mark that replaces one. */
function refuseSecrets({ redactor }: Pick<Project, "redactor">, code: string): void {
  const { count } = redactor.redactText(code);
  if (count > 0 || /\[REDACTED(?::[\w-]+)?\]/.test(code))
    throw refuse(
      "the program's text holds a secret; take it from `data`, or leave it to the server that needs it",
    );
}

/** Removes secrets that ptc has learned since the run was archived. */
function withoutSecrets({ redactor }: Pick<Project, "redactor">, example: Example): Example {
  return redactor.redactValue(example).value as Example;
}

async function describeProgram(
  configuration: Configuration,
  { ran, code }: ProgramOrigin,
  { name, description, expose }: SaveOptions,
  suffix: string,
  notes: string[],
): Promise<Manifest> {
  const earlier = readPrograms(configuration).programs.find((each) => each.name === name)?.manifest;
  const inferred = {
    input: ran === undefined ? { type: "object", properties: {} } : inferInput(ran.data),
    output: ran === undefined ? undefined : inferOutput(ran.value),
  };
  const kept = earlier && (await fits(earlier, ran));
  if (kept === false) notes.push("the earlier schemas do not fit this run, and were inferred anew");
  if (ran === undefined && earlier === undefined && /\bdata\b/.test(code))
    notes.push(`say in ${shownFile(manifestFile(name))} under \`input\` what the program finds in \`data\``);
  return {
    description: description ?? earlier?.description ?? describedIn(code) ?? `The saved program ${name}`,
    program: name + suffix,
    expose: expose ?? earlier?.expose ?? false,
    timeoutMs: earlier?.timeoutMs,
    ...(kept === true && earlier !== undefined ? { input: earlier.input, output: earlier.output } : inferred),
  };
}

/** Whether the schemas of a manifest, which somebody may have edited, fit a run. */
async function fits(manifest: Manifest, ran: ProgramOrigin["ran"]): Promise<boolean> {
  if (ran === undefined) return true;
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  try {
    if ((await validator.check(manifest.input, withExactNumbers(manifest.input, ran.data))) !== undefined)
      return false;
    return (
      manifest.output === undefined ||
      (await validator.check(manifest.output, withExactNumbers(manifest.output, ran.value))) === undefined
    );
  } finally {
    await validator.close();
  }
}

/** The comment at the beginning of a program, on one line. */
function describedIn(code: string): string | undefined {
  const [, line, block, hash, doc] =
    /^\s*(?:\/\/[ \t]*([^\n]+)|\/\*\*?([\s\S]{1,600}?)\*\/|#(?!!)[ \t]*([^\n]+)|"""([\s\S]{1,600}?)""")/.exec(
      code,
    ) ?? [];
  const text = (line ?? block ?? hash ?? doc)?.replace(/\s*\n\s*\*?\s*/g, " ").trim();
  return text === undefined || text === "" ? undefined : text.slice(0, 300);
}

/** @throws ConfigurationError when the program cannot be bundled, or has type errors and `typecheck` is `error`. */
async function requireSound(
  configuration: Configuration,
  program: ProgramFiles,
  saved: SavedPrograms,
  host: Pick<Host, "check">,
  notes: string[],
): Promise<void> {
  const tools = await loadProgramTools(configuration, undefined, { saved });
  const checked = await host.check(textToCheck(program), LOCAL_USER, tools);
  if (checked.ok && checked.unchecked !== undefined)
    notes.push(`its types could not be checked: ${checked.unchecked}`);
  if (checked.ok) return;
  const { typecheck } = configuration.execution;
  if (checked.type === "BundleError" || typecheck === "error")
    throw refuse(`it was not saved: ${checked.message}`);
  if (typecheck === "warn") notes.push(checked.message);
}

function refuse(message: string): ConfigurationError {
  return new ConfigurationError("invalid", message);
}

/** The age from which a staged file counts as left behind by a process that died. */
const ABANDONED_AFTER_MS = 10 * 60 * 1_000;

/**
 * Does some work on the folder of saved programs while no other ptc saves into it.
 *
 * @throws ConfigurationError when another process keeps it locked, and the errors of the work.
 */
async function whileSaving<T>(
  { archive }: Pick<Configuration, "archive">,
  work: () => Promise<T>,
): Promise<T> {
  const folder = dirname(archive.path);
  const release = await lock(folder);
  try {
    return await work();
  } finally {
    release();
  }
}

async function lock(folder: string): Promise<() => void> {
  try {
    await mkdir(folder, { recursive: true });
    return await lockFile(join(folder, "programs.lock"));
  } catch (error) {
    throw new ConfigurationError("unreadable", `the program was not saved: ${messageOf(error)}`);
  }
}

/**
 * Replaces files of the folder. Each is written whole beside its place and then renamed in the given order. Then others are removed.
 * If anything fails, the files are restored.
 *
 * @param texts the texts by file. The last file makes the program known.
 * @throws ConfigurationError
 */
async function writeProgramFiles(
  directory: string,
  texts: ReadonlyMap<string, string>,
  removed: readonly string[],
): Promise<void> {
  const end = `.${randomBytes(6).toString("hex")}.tmp`;
  const staged = [...texts].map(([file, text]) => ({ file, text, path: join(directory, `.${file}${end}`) }));
  const before = new Map<string, Buffer | undefined>();
  try {
    await mkdir(directory, { recursive: true });
    await clearAbandoned(directory);
    for (const file of [...texts.keys(), ...removed])
      before.set(file, await contentOf(join(directory, file)));
    for (const { path, text } of staged) await writeFile(path, text, { flag: "wx" });
    for (const { path, file } of staged) await rename(path, join(directory, file));
    for (const file of removed) await rm(join(directory, file), { force: true });
  } catch (error) {
    await Promise.all(staged.map(({ path }) => rm(path, { force: true }).catch(() => {})));
    for (const [file, content] of before) await putBack(join(directory, file), content);
    throw new ConfigurationError("unreadable", `${directory}: cannot be written (${messageOf(error)})`);
  }
}

/** The bytes of a file; `undefined` if there is none. */
async function contentOf(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

async function putBack(path: string, content: Buffer | undefined): Promise<void> {
  try {
    if (content === undefined) await rm(path, { force: true });
    else if ((await contentOf(path))?.equals(content) !== true) await writeFile(path, content);
  } catch {
    // A file that cannot be written now could not be written before either, so it is unchanged.
  }
}

/** Removes files that a killed ptc has left. */
async function clearAbandoned(directory: string): Promise<void> {
  for (const file of await readdir(directory)) {
    if (!/^\..*\.[0-9a-f]{12}\.tmp$/.test(file)) continue;
    const path = join(directory, file);
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age > ABANDONED_AFTER_MS) await rm(path, { force: true }).catch(() => {});
  }
}
