import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { type ImportedServers, importServers } from "../../../host/configuration/import/import-servers.ts";
import {
  ClientFileError,
  MAX_CLIENT_FILE_BYTES,
  readClientFile,
} from "../../../host/configuration/import/read-client-file.ts";
import { renderConfiguration } from "../../../host/configuration/render-configuration.ts";
import type { ServerEntry } from "../../../host/configuration/schema.ts";
import { readTextFile } from "../../arguments/text-file.ts";
import { claudeCommand } from "../../claude-command.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { findServers } from "./find-servers.ts";
import { withoutPlainSecrets } from "./keep-secrets.ts";

const FILE = "ptc.yaml";
const MAX_NAME_CHARS = 80;
const COMMIT = `Commit ${FILE} and generated/, so that a changed tool shows in review (\`ptc generate --check\` in CI). .ptc/ holds
your runs and is private: it hides itself from git.
`;

/** `ptc init` */
export const initCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("init")
    .description("write a commented ptc.yaml here")
    .option(
      "--import [file]",
      "take over the servers of an MCP client's file, JSON or TOML (default: what Claude Code, Claude Desktop, Cursor, VS Code, Codex and Gemini CLI have here, to choose from)",
    )
    .option("--all", "with --import: take all servers that are found, without a question")
    .addHelpText("after", "\nExample:\n  ptc init --import ~/.claude.json && ptc generate\n")
    .action(async (flags: InitFlags) => {
      finish(await init(flags, surroundings));
    });
};

interface InitFlags {
  import?: string | true;
  all?: boolean;
}

async function init(flags: InitFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const path = join(surroundings.cwd(), FILE);
  if (existsSync(path)) throw new UsageError(`${FILE} is already here; edit it, or remove it first`);
  const found =
    flags.import === undefined
      ? { servers: [], skipped: [], withValues: [] }
      : flags.import === true
        ? await findServers(flags.all === true, surroundings)
        : await readImported(flags.import, surroundings);
  const { servers, told } = await withoutPlainSecrets(found.servers, surroundings);
  const imported = { ...found, servers, withValues: servers.filter(hasValues).map(({ name }) => name) };
  // What is left of values in `env` and `headers` may be secret all the same, so only the owner may read the file.
  const mode = imported.withValues.length > 0 ? 0o600 : 0o666;
  await writeFile(path, renderConfiguration(imported.servers), { flag: "wx", mode });
  for (const line of told) await write(stderr, `ptc: ${oneLine(line)}\n`);
  for (const { name, why } of imported.skipped) {
    await write(
      stderr,
      `ptc: warning: server '${oneLine(name, MAX_NAME_CHARS)}' was left out: ${oneLine(why)}\n`,
    );
  }
  if (imported.withValues.length > 0) {
    const names = imported.withValues.join(", ");
    await write(
      stderr,
      `ptc: warning: ${FILE} now holds values of env or headers (${names}); if they are secret, write \${NAME} instead and set NAME in your environment\n`,
    );
  }
  const next =
    imported.servers.length === 0
      ? `Wrote ${FILE}. Name your servers in it, then:`
      : `Wrote ${FILE} with ${countNoun(imported.servers.length, "server")}. Next:`;
  await write(
    stdout,
    `${next}\n  ptc generate\n  ptc doctor\n  ${claudeCommand(surroundings, path)}\n${COMMIT}`,
  );
  return EXIT.done;
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
  const isGemini = /(?:^|[\\/])\.gemini[\\/]/.test(resolve(surroundings.cwd(), file));
  const imported = importServers(content, surroundings.cwd(), { isGemini });
  if (imported === undefined) throw new UsageError(`${file}: there are no mcpServers in it`);
  return imported;
}
