import { lstatSync } from "node:fs";
import { join } from "node:path";
import { countNoun } from "../../../base/quantities.ts";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { configurationAbove } from "../../../configuration/configuration-paths.ts";
import { findServers, readServers } from "../../../project/clients/found-servers.ts";
import {
  NEW_FILE as FILE,
  NewConfiguration,
  type WrittenConfiguration,
} from "../../../project/clients/new-configuration.ts";
import { hasGvisor } from "../../../project/sandboxes/sandboxes.ts";
import type { Surroundings } from "../../../project/surroundings.ts";
import { claudeCommand } from "../../claude-command.ts";
import { defineCommand, EXIT, type ExitCode, tell, UsageError, write } from "../../command.ts";
import { ask, canAsk, chooseServers, isConfirmed, offerTakeOver, takeOverChoice } from "./client-files.ts";

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

/** Writes ptc.yaml, with the servers of clients if that is asked for. @throws UsageError, Refusal */
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
  const next = new NewConfiguration(await findImported(flags, surroundings), surroundings);
  const { servers, told } = (await keepsSecrets(next, surroundings))
    ? await next.withSecretsInKeyring()
    : next.withSecretsInVariables();
  const after = (await choosesInterpreters(flags, surroundings)) ? INTERPRETERS : "";
  const written = await next.write(servers, after);
  for (const line of told) await tell(stderr, oneLine(line));
  await tellWritten(written, surroundings);
  if (servers.length > 0) await offerTakeOver(await written.twice(), choice, surroundings);
  if (flags.isStep) return EXIT.done;
  const first =
    servers.length === 0
      ? `Wrote ${FILE}. Name your servers in it, then:`
      : `Wrote ${FILE} with ${countNoun(servers.length, "server")}. Next:`;
  const client =
    written.plugin === undefined
      ? `  ${claudeCommand(surroundings, path)}\n`
      : `Claude Code has ptc here by the plugin ${written.plugin}: start it again.\n`;
  await write(stdout, `${first}\n  ptc generate\n  ptc doctor\n${client}${COMMIT}`);
  return EXIT.done;
}

async function findImported(flags: InitFlags, surroundings: Surroundings) {
  if (flags.import === undefined) return undefined;
  if (flags.import !== true) return readServers(flags.import, surroundings);
  return flags.all ? findServers(surroundings) : chooseServers(surroundings);
}

async function tellWritten(
  { skipped, notes, settings, withValues }: WrittenConfiguration,
  { stderr }: Pick<Surroundings, "stderr">,
): Promise<void> {
  for (const { name, why } of skipped)
    await tell(stderr, `warning: server '${oneLine(name, MAX_NAME_CHARS)}' was left out: ${oneLine(why)}`);
  for (const { name, why } of notes)
    await tell(stderr, `warning: server '${oneLine(name, MAX_NAME_CHARS)}': ${oneLine(why)}`);
  const { tools, approvals } = settings;
  const key = tools === undefined ? undefined : "allow" in tools ? "allow" : "block";
  if (key !== undefined)
    await tell(
      stderr,
      `what the clients say of single tools is tools.${key} in ${FILE} now; \`ptc generate\` checks its names`,
    );
  if (approvals !== undefined)
    await tell(stderr, `the tools for which a client asks first are approvals.ask in ${FILE} now`);
  if (withValues.length > 0)
    await tell(
      stderr,
      `warning: ${FILE} now holds values of env or headers (${withValues.join(", ")}); if they are secret, write \${NAME} instead and set NAME in your environment`,
    );
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

/**
 * Whether values in plain text that look secret are kept in the keyring. It is asked on a terminal. In a pipe, variables replace them.
 *
 * @throws UsageError when the person does not decide.
 */
async function keepsSecrets({ plain }: NewConfiguration, surroundings: Surroundings): Promise<boolean> {
  if (plain.length === 0 || !canAsk(surroundings)) return false;
  await write(
    surroundings.stderr,
    `${countNoun(plain.length, "value")} in plain text ${plain.length === 1 ? "looks" : "look"} secret (${oneLine(plain.join(", "), 400)}).\n`,
  );
  const answer = await ask(
    "Keep them in the keyring, so that ptc.yaml only names them? [Y/n]: ",
    surroundings,
  );
  if (answer === undefined) throw new UsageError("nothing was decided, and nothing was written");
  return !/^\s*n/i.test(answer);
}
