import { lstatSync, realpathSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { countNoun } from "../../../base/quantities.ts";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { findPtcInClaude } from "../../../configuration/clients/claude-code.ts";
import { type ToolSettings, toolSettings } from "../../../configuration/clients/client-rules.ts";
import { type ClientFile, findClientFiles } from "../../../configuration/clients/clients.ts";
import { type ImportedServers, importServers } from "../../../configuration/clients/import-servers.ts";
import {
  ClientFileError,
  MAX_CLIENT_FILE_BYTES,
  readClientFile,
} from "../../../configuration/clients/read-client-file.ts";
import { configurationAbove } from "../../../configuration/configuration-paths.ts";
import {
  findPlainSecrets,
  fromKeyring,
  fromVariable,
  keyringNameOf,
  type PlainSecret,
  replaceSecrets,
  SecretVariables,
  withoutArgumentSecrets,
} from "../../../configuration/plain-secrets.ts";
import type { ServerEntry } from "../../../configuration/settings/server-settings.ts";
import { renderConfiguration } from "../../../configuration/write-file.ts";
import { hasGvisor } from "../../../project/sandboxes/sandboxes.ts";
import { UserSecrets } from "../../../secrets/user-secrets.ts";
import { readTextFile } from "../../arguments/text-file.ts";
import { claudeCommand } from "../../claude-command.ts";
import {
  defineCommand,
  EXIT,
  type ExitCode,
  type Surroundings,
  tell,
  UsageError,
  write,
} from "../../command.ts";
import {
  ask,
  canAsk,
  findServers,
  importOptions,
  isConfirmed,
  offerTakeOver,
  takeOverChoice,
} from "./client-files.ts";

const FILE = "ptc.yaml";
const MAX_NAME_CHARS = 80;
const COMMIT = `Commit ${FILE} and generated/, so that a changed tool shows in review (\`ptc generate --check\` in CI). .ptc/ holds
your runs and is private: it hides itself from git.
`;

/** `ptc init` */
export const initCommand = defineCommand("init", init, (command) =>
  command
    .description("write a commented ptc.yaml here")
    .option(
      "--import [file]",
      "take over the servers of an MCP client's file, JSON or TOML (default: what Claude Code, Claude Desktop, Cursor, VS Code, Codex and Gemini CLI have here, to choose from)",
    )
    .option("--all", "with --import: take all servers that are found, without a question")
    .option(
      "--take-over",
      "with --import: take the imported servers out of the clients' files, without a question",
    )
    .option("--keep", "with --import: leave them there, without a question")
    .addHelpText(
      "after",
      "\nA client that keeps the imported servers beside ptc shows a model each of their tools twice. `ptc install --undo` puts back what is taken out.\n\nExamples:\n  ptc init --import ~/.claude.json && ptc generate\n  ptc init --import --all --take-over\n",
    ),
);

interface InitFlags {
  import?: string | true;
  all?: boolean;
  takeOver?: boolean;
  keep?: boolean;
  /** Set by a command that carries on itself: what to do next is then left out. */
  isStep?: true;
}

/** Writes ptc.yaml, with the servers of clients if that is asked for. @throws UsageError */
export async function init(flags: InitFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const path = join(surroundings.cwd(), FILE);
  const choice = takeOverChoice(flags);
  if (flags.import === undefined && choice !== "ask")
    throw new UsageError("--take-over and --keep go with --import");
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw new UsageError(`${FILE} is already here; edit it, or remove it first`);
  const above = configurationAbove({ env: surroundings.env, cwd: surroundings.cwd() });
  if (above !== undefined)
    await tell(
      surroundings.stderr,
      `${visibleLine(above)} counted in this folder so far; from now on ${FILE} here does, with .ptc/ and generated/ of its own`,
    );
  const found =
    flags.import === undefined
      ? { servers: [], skipped: [], withValues: [], tools: [], notes: [] }
      : flags.import === true
        ? await findServers(flags.all === true, surroundings)
        : await readImported(flags.import, surroundings);
  const { servers, told } = await withoutPlainSecrets(found.servers, surroundings);
  const imported = { ...found, servers, withValues: servers.filter(hasValues).map(({ name }) => name) };
  // The remaining values in `env` and `headers` may still be secret, so only the owner may read the file.
  const mode = imported.withValues.length > 0 ? 0o600 : 0o666;
  const settings = toolSettings(imported.servers, imported.tools);
  const chosen = (await choosesInterpreters(flags, surroundings)) ? INTERPRETERS : "";
  const text = renderConfiguration(imported.servers, settings) + chosen;
  await writeFile(path, text, { flag: "wx", mode }).catch(async (error) => {
    if (error.code !== "EEXIST") await rm(path, { force: true });
    throw error;
  });
  for (const line of told) await tell(stderr, oneLine(line));
  for (const { name, why } of imported.skipped) {
    await tell(stderr, `warning: server '${oneLine(name, MAX_NAME_CHARS)}' was left out: ${oneLine(why)}`);
  }
  for (const { name, why } of [...imported.notes, ...settings.notes])
    await tell(stderr, `warning: server '${oneLine(name, MAX_NAME_CHARS)}': ${oneLine(why)}`);
  for (const line of describeSettings(settings)) await tell(stderr, line);
  if (imported.withValues.length > 0) {
    const names = imported.withValues.join(", ");
    await tell(
      stderr,
      `warning: ${FILE} now holds values of env or headers (${names}); if they are secret, write \${NAME} instead and set NAME in your environment`,
    );
  }
  if (imported.servers.length > 0) {
    const files = clientFilesOf(flags.import, surroundings);
    const project = realpathSync(surroundings.cwd());
    await offerTakeOver({ files, servers: imported.servers, project, choice }, surroundings);
  }
  if (flags.isStep) return EXIT.done;
  const next =
    imported.servers.length === 0
      ? `Wrote ${FILE}. Name your servers in it, then:`
      : `Wrote ${FILE} with ${countNoun(imported.servers.length, "server")}. Next:`;
  const { plugin } = findPtcInClaude(surroundings.env, surroundings.cwd());
  const client =
    plugin === undefined
      ? `  ${claudeCommand(surroundings, path)}\n`
      : `Claude Code has ptc here by the plugin ${plugin}: start it again.\n`;
  await write(stdout, `${next}\n  ptc generate\n  ptc doctor\n${client}${COMMIT}`);
  return EXIT.done;
}

/** What is written for somebody who wants programs to run without gVisor. */
const INTERPRETERS = `
# This machine had no gVisor when this file was written, so programs run in interpreters of ptc: a weaker wall (docs/engines.md).
# For the stronger one, install gVisor, leave these lines out, and run \`ptc image build\`.
sandbox:
  engine: wasm
`;

/**
 * Whether a person wants programs to run without gVisor. It is asked only where there is none, and nobody has chosen an engine. What was
 * chosen for a command that goes on holds for clients too, which start ptc without the variables of this shell.
 */
async function choosesInterpreters({ isStep }: InitFlags, surroundings: Surroundings): Promise<boolean> {
  const { env, stderr } = surroundings;
  if (isStep && env.PTC_ENGINE === "wasm") return true;
  if (!canAsk(surroundings) || (env.PTC_ENGINE ?? "") !== "" || (await hasGvisor(env))) return false;
  await tell(
    stderr,
    "there is no gVisor here, in which programs are isolated from this machine. They can run without it now, in interpreters in WebAssembly: a weaker wall, behind which calls that may change something ask you first",
  );
  return isConfirmed("Run programs in interpreters until gVisor is installed?", surroundings);
}

/** What the clients' lists of tools have become. */
function describeSettings({ tools, approvals }: ToolSettings): string[] {
  const key = tools === undefined ? undefined : "allow" in tools ? "allow" : "block";
  return [
    ...(key === undefined
      ? []
      : [
          `what the clients say of single tools is tools.${key} in ${FILE} now; \`ptc generate\` checks its names`,
        ]),
    ...(approvals === undefined
      ? []
      : [`the tools for which a client asks first are approvals.ask in ${FILE} now`]),
  ];
}

/** The files that were imported: the named one, or those of the clients here. */
function clientFilesOf(named: string | true | undefined, surroundings: Surroundings): ClientFile[] {
  const cwd = surroundings.cwd();
  const known = findClientFiles(surroundings.env, cwd);
  if (typeof named !== "string") return known;
  const path = realpathSync(resolve(cwd, named));
  const found = known.find((file) => realpathSync(file.path) === path);
  const { isGemini, countsSeconds } = importOptions({ client: "", path }, surroundings);
  return [
    found ?? {
      client: "this client",
      path,
      isGemini: isGemini === true,
      countsSeconds: countsSeconds === true,
    },
  ];
}

/** Whether `env` or `headers` hold a value that is written out. */
function hasValues({ env = {}, headers = {} }: ServerEntry): boolean {
  return [...Object.values(env), ...Object.values(headers)].some(
    (value) => typeof value === "string" && !value.includes("${"),
  );
}

async function readImported(file: string, surroundings: Surroundings): Promise<ImportedServers> {
  const text = await readTextFile(file, surroundings.cwd(), MAX_CLIENT_FILE_BYTES);
  const content = await readClientFile(file, text).catch((error: unknown) => {
    throw error instanceof ClientFileError ? new UsageError(`${file}: ${error.message}`) : error;
  });
  const path = resolve(surroundings.cwd(), file);
  const options = importOptions({ client: "", path }, surroundings);
  const imported = importServers(content, surroundings.cwd(), options);
  if (imported === undefined) throw new UsageError(`${file}: there are no mcpServers in it`);
  return imported;
}

/**
 * The servers without secrets in plain text. On a terminal, ptc offers to keep them in the keyring. If the person refuses, and in a
 * pipe, environment variables replace them. `told` says which, in lines for people.
 *
 * @throws UsageError when the keyring cannot be written.
 */
async function withoutPlainSecrets(
  servers: readonly ServerEntry[],
  surroundings: Surroundings,
): Promise<{ servers: ServerEntry[]; told: string[] }> {
  const { stderr, env } = surroundings;
  const told: string[] = [];
  const names = new SecretVariables();
  const cleaned = servers.map((server) => {
    const { entry, variables } = withoutArgumentSecrets(server, names);
    for (const { variable } of variables)
      told.push(
        `a secret among the arguments or in the URL of '${server.name}' is \${${variable}} now: set ${variable}`,
      );
    return entry;
  });
  const secrets = cleaned.flatMap(findPlainSecrets);
  if (secrets.length === 0) return { servers: cleaned, told };
  let isKept = false;
  if (canAsk(surroundings)) {
    const places = secrets.map(({ server, key }) => `${server}: ${key}`).join(", ");
    await write(
      stderr,
      `${countNoun(secrets.length, "value")} in plain text ${secrets.length === 1 ? "looks" : "look"} secret (${oneLine(places, 400)}).\n`,
    );
    const answer = await ask(
      "Keep them in the keyring, so that ptc.yaml only names them? [Y/n]: ",
      surroundings,
    );
    if (answer === undefined) throw new UsageError("nothing was decided, and nothing was written");
    isKept = !/^\s*n/i.test(answer);
  }
  if (!isKept) {
    const variableOf = ({ server, key, secret }: PlainSecret) =>
      names.nameFor(server, key, secret, /^[A-Za-z_]\w*$/.test(key));
    for (const secret of secrets)
      told.push(
        `${secret.key} of '${secret.server}' looks secret, and is \${${variableOf(secret)}} now: set ${variableOf(secret)}`,
      );
    const instead = (secret: PlainSecret) => fromVariable(secret, variableOf(secret));
    return { servers: cleaned.map((entry) => replaceSecrets(entry, secrets, instead)), told };
  }
  const keyring = new UserSecrets(env);
  for (const secret of secrets) {
    const kept = await keyring.set(keyringNameOf(secret), secret.secret);
    if (!kept.ok) throw new UsageError(`${kept.why}; nothing was written`);
    told.push(`${secret.key} of '${secret.server}' is kept as '${keyringNameOf(secret)}' in ${kept.where}`);
  }
  return { servers: cleaned.map((entry) => replaceSecrets(entry, secrets, fromKeyring)), told };
}
