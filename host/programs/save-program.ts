import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ArchiveStore } from "../../archive/archive-store.ts";
import { isObject } from "../../base/json/is-object.ts";
import type { Viewer } from "../../broker/policy/authorizer.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import { CatalogError } from "../../catalog/catalog-error.ts";
import { withoutFences } from "../../execution/prepare/without-fences.ts";
import { Redactor } from "../../secrets/redaction.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import { GeneratedFolder } from "../generation/generated-folder.ts";
import type { Host } from "../host.ts";
import { linkOutOf } from "../link-out-of.ts";
import { moduleUrl, version } from "../package.ts";
import { languageOfFile } from "../program-files.ts";
import { loadReplayable } from "../replay/load-replayable.ts";
import { loadProgramTools } from "../tools/program-tools.ts";
import { calledByName } from "./call-by-name.ts";
import { requireSchemas } from "./check-manifest.ts";
import { buildExample, type Example, MAX_EXAMPLE_BYTES, renderExample } from "./example.ts";
import { inferInput, inferOutput } from "./infer-schema.ts";
import { type Manifest, renderManifest } from "./manifest.ts";
import { exampleFile, manifestFile, type ProgramFiles, readPrograms, shownFile } from "./program-folder.ts";
import { whyNoName } from "./program-name.ts";
import { programsDirectory } from "./programs-directory.ts";
import { SavedPrograms, textToCheck } from "./saved-programs.ts";
import { whileSaving, writeProgramFiles } from "./write-program.ts";

/** The files that a saved program may be in, by the name of its language. */
const SUFFIXES: Readonly<Record<string, string>> = { typescript: ".ts", javascript: ".js", python: ".py" };

/** What a program is saved of. */
export interface ProgramOrigin {
  code: string;
  language: string;
  /** What it was run with, and what came of it, where it was run. */
  ran?: { data: unknown; value: unknown; example: (digest: string) => Promise<Example> };
}

export interface SaveOptions {
  name: string;
  description: string | undefined;
  expose: boolean | undefined;
  /** Whether a program of this name is replaced. What was said of it by hand is kept as far as it still holds. */
  force: boolean;
}

export interface SavedFiles {
  /** The files that were written, as messages name them. */
  files: string[];
  /** What the user should know, one line each. */
  notes: string[];
}

/**
 * Takes what a program is saved of from an archived run.
 *
 * @throws ArchiveError, ConfigurationError for a run of which no program can be saved.
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
    archived.whole.resultJson === undefined
      ? result.data
      : (JSON.parse(archived.whole.resultJson) as unknown);
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
 * Saves a program: its text, its manifest and, where it was run, a recorded example. Nothing is written unless the program can be
 * bundled and its types fit the tools as they are.
 *
 * @param host checks the program; of the same configuration.
 * @throws ConfigurationError in one line, which may be long where the types are wrong.
 */
export async function saveProgram(
  configuration: Configuration,
  origin: ProgramOrigin,
  options: SaveOptions,
  { host, viewer }: { host: Pick<Host, "check">; viewer: Viewer },
): Promise<SavedFiles> {
  const { name } = options;
  const reason = whyNoName(name);
  if (reason !== undefined) throw refuse(`'${name}' ${reason}`);
  findReplaced(configuration, options);
  refuseSecrets(configuration, origin.code);
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
  await requireSound(configuration, program, saved, { host, viewer }, notes);
  const digest = saved.find(name)?.digest ?? "";
  const example = await origin.ran?.example(digest);
  const texts = new Map([[name + suffix, program.code]]);
  if (example === undefined)
    notes.push(
      `without a run there is no example for \`ptc test\`; save a run of it with --force to add one`,
    );
  else {
    const text = renderExample(withoutSecrets(configuration, example));
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

/** Writes what editors read of saved programs. The program is saved whatever becomes of that. */
async function updateEditors(configuration: Configuration, notes: string[]): Promise<void> {
  try {
    await new GeneratedFolder(configuration).updatePrograms();
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    notes.push(`what editors read of it was not written: ${error.message}`);
  }
}

/** The files that saving replaces. @throws ConfigurationError where there are some, and nobody said that they may be. */
function findReplaced(configuration: Configuration, { name, force }: SaveOptions): string[] {
  const files = earlierFiles(programsDirectory(configuration), name);
  if (files.length > 0 && !force)
    throw refuse(`${shownFile(files[0] ?? "")} is there already; --force replaces it`);
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

/** @throws ConfigurationError for a text that holds a secret, or a mark in the place of one. */
function refuseSecrets(configuration: Configuration, code: string): void {
  const { count } = new Redactor(configuration.secrets, configuration.credentials).redactText(code);
  if (count > 0 || /\[REDACTED(?::[\w-]+)?\]/.test(code))
    throw refuse(
      "the program's text holds a secret; take it from `data`, or leave it to the server that needs it",
    );
}

/** What was archived has no secrets; this takes out those that were none then. */
function withoutSecrets(configuration: Configuration, example: Example): Example {
  return new Redactor(configuration.secrets, configuration.credentials).redactValue(example).value as Example;
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
  if (kept === false) notes.push("the schemas of before do not fit this run, and were inferred anew");
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

/** Whether schemas that somebody may have edited hold for a run. */
async function fits(manifest: Manifest, ran: ProgramOrigin["ran"]): Promise<boolean> {
  if (ran === undefined) return true;
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  try {
    if ((await validator.check(manifest.input, ran.data)) !== undefined) return false;
    return manifest.output === undefined || (await validator.check(manifest.output, ran.value)) === undefined;
  } finally {
    await validator.close();
  }
}

/** What the comment says that a program begins with, on one line. */
function describedIn(code: string): string | undefined {
  const [, line, block, hash, doc] =
    /^\s*(?:\/\/[ \t]*([^\n]+)|\/\*\*?([\s\S]{1,600}?)\*\/|#(?!!)[ \t]*([^\n]+)|"""([\s\S]{1,600}?)""")/.exec(
      code,
    ) ?? [];
  const text = (line ?? block ?? hash ?? doc)?.replace(/\s*\n\s*\*?\s*/g, " ").trim();
  return text === undefined || text === "" ? undefined : text.slice(0, 300);
}

/** @throws ConfigurationError when the program cannot be bundled, or its types are wrong where that stops programs. */
async function requireSound(
  configuration: Configuration,
  program: ProgramFiles,
  saved: SavedPrograms,
  { host, viewer }: { host: Pick<Host, "check">; viewer: Viewer },
  notes: string[],
): Promise<void> {
  const tools = await loadProgramTools(configuration, undefined, { saved });
  const checked = await host.check(textToCheck(program), viewer, tools);
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
