import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { claudeCommand } from "../claude-command.ts";
import type { DefineCommand } from "../command.ts";
import { type ImportedServers, importServers } from "../configuration/import-servers.ts";
import { renderConfiguration } from "../configuration/render-configuration.ts";
import { EXIT, type ExitCode, UsageError } from "../exit-code.ts";
import { type Surroundings, write } from "../surroundings.ts";
import { count } from "../terminal.ts";

const FILE = "ptc.yaml";

/** `ptc init` */
export const initCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("init")
    .description("write a commented ptc.yaml here")
    .option(
      "--import [file]",
      "take over the mcpServers of this file (default: .mcp.json here, else ~/.claude.json)",
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
  // Values of env and headers may be secrets.
  const mode = imported.withValues.length > 0 ? 0o600 : 0o666;
  await writeFile(path, renderConfiguration(imported.servers), { flag: "wx", mode });
  for (const { name, why } of imported.skipped) {
    await write(stderr, `ptc: warning: server '${name}' was left out: ${why}\n`);
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
      : `Wrote ${FILE} with ${count(imported.servers.length, "server")}. Next:`;
  await write(stdout, `${next}\n  ptc generate\n  ptc doctor\n  ${claudeCommand(surroundings, path)}\n`);
  return EXIT.done;
}

async function readImported(file: string | true, surroundings: Surroundings): Promise<ImportedServers> {
  const { path, shown } = findImport(file, surroundings);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw new UsageError(
      code === "ENOENT" ? `${shown}: there is no such file` : `${shown}: cannot be read (${code})`,
    );
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    throw new UsageError(`${shown}: is not JSON`);
  }
  const imported = importServers(content, surroundings.cwd());
  if (imported === undefined) throw new UsageError(`${shown}: there are no mcpServers in it`);
  return imported;
}

function findImport(
  file: string | true,
  { env, cwd }: Pick<Surroundings, "env" | "cwd">,
): { path: string; shown: string } {
  if (file !== true) return { path: resolve(cwd(), file), shown: file };
  const home = env.HOME || homedir();
  const candidates = [join(cwd(), ".mcp.json"), join(env.CLAUDE_CONFIG_DIR || home, ".claude.json")];
  const path = candidates.find(existsSync);
  if (path === undefined) {
    throw new UsageError("--import: there is neither .mcp.json here nor ~/.claude.json; name the file");
  }
  return { path, shown: path };
}
