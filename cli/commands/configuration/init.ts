import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { countNoun } from "../../../base/text/count-noun.ts";
import { oneLine } from "../../../base/text/one-line.ts";
import { type ImportedServers, importServers } from "../../../host/configuration/import/import-servers.ts";
import {
  ClientFileError,
  MAX_CLIENT_FILE_BYTES,
  readClientFile,
} from "../../../host/configuration/import/read-client-file.ts";
import { renderConfiguration } from "../../../host/configuration/render-configuration.ts";
import { readTextFile } from "../../arguments/text-file.ts";
import { claudeCommand } from "../../claude-command.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";

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
      "take over the servers of an MCP client's file, JSON or TOML (default: .mcp.json here, else ~/.claude.json)",
    )
    .addHelpText("after", "\nExample:\n  ptc init --import ~/.claude.json && ptc generate\n")
    .action(async (flags: { import?: string | true }) => {
      finish(await init(flags, surroundings));
    });
};

async function init(flags: { import?: string | true }, surroundings: Surroundings): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  const path = join(surroundings.cwd(), FILE);
  if (existsSync(path)) throw new UsageError(`${FILE} is already here; edit it, or remove it first`);
  const imported =
    flags.import === undefined
      ? { servers: [], skipped: [], withValues: [] }
      : await readImported(flags.import, surroundings);
  // Values of `env` and `headers` may be secrets, so only the owner may read the file.
  const mode = imported.withValues.length > 0 ? 0o600 : 0o666;
  await writeFile(path, renderConfiguration(imported.servers), { flag: "wx", mode });
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

async function readImported(file: string | true, surroundings: Surroundings): Promise<ImportedServers> {
  const shown = findImport(file, surroundings);
  const text = await readTextFile(shown, surroundings.cwd(), MAX_CLIENT_FILE_BYTES);
  const content = await readClientFile(shown, text).catch((error: unknown) => {
    throw error instanceof ClientFileError ? new UsageError(`${shown}: ${error.message}`) : error;
  });
  const imported = importServers(content, surroundings.cwd());
  if (imported === undefined) throw new UsageError(`${shown}: there are no mcpServers in it`);
  return imported;
}

function findImport(file: string | true, { env, cwd }: Pick<Surroundings, "env" | "cwd">): string {
  if (file !== true) return file;
  const home = env.HOME || homedir();
  const candidates = [join(cwd(), ".mcp.json"), join(env.CLAUDE_CONFIG_DIR || home, ".claude.json")];
  const path = candidates.find(existsSync);
  if (path === undefined) {
    throw new UsageError("--import: there is neither .mcp.json here nor ~/.claude.json; name the file");
  }
  return path;
}
