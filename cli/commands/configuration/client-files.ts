import { createInterface } from "node:readline";
import { countNoun } from "../../../base/quantities.ts";
import { listUpTo, oneLine, visibleLine } from "../../../base/visible-text.ts";
import type { ServersTwice, Undoable } from "../../../project/clients/client-files.ts";
import { type FoundServer, type FoundServers, findServers } from "../../../project/clients/found-servers.ts";
import type { Surroundings } from "../../../project/surroundings.ts";
import { layOutTable } from "../../../project/terminal/terminal.ts";
import { EXIT, type ExitCode, tell, UsageError, write } from "../../command.ts";

const MAX_NAMES_CHARS = 200;
const MAX_TARGET_CHARS = 48;

/** What to do with entries that start the same servers as ptc.yaml. `ask` keeps them if nobody can be asked. */
export type TakeOverChoice = "take" | "keep" | "ask";

/** @throws UsageError for flags that contradict each other. */
export function takeOverChoice(flags: { takeOver?: boolean; keep?: boolean }): TakeOverChoice {
  if (flags.takeOver && flags.keep) throw new UsageError("give --take-over or --keep, not both");
  if (flags.takeOver) return "take";
  return flags.keep ? "keep" : "ask";
}

/**
 * Offers to remove entries that start the same servers as ptc.yaml. Shows them first.
 *
 * @throws Refusal for a file that cannot be changed.
 */
export async function offerTakeOver(
  { entries, takeOut }: ServersTwice,
  choice: TakeOverChoice,
  surroundings: Surroundings,
): Promise<void> {
  const { stdout, stderr } = surroundings;
  if (entries.length === 0 || choice === "keep") return;
  const clients = listUpTo([...new Set(entries.map(({ client }) => client))], MAX_NAMES_CHARS);
  const have = `${clients} still ${entries.length === 1 ? "has" : "have"}`;
  if (choice === "ask" && !canAsk(surroundings)) {
    const names = listUpTo([...new Set(entries.map(({ name }) => visibleLine(name)))], MAX_NAMES_CHARS);
    await tell(
      stderr,
      `${have} ${names} beside ptc: \`ptc install --take-over\` takes them out, \`ptc install --undo\` puts them back`,
    );
    return;
  }
  const rows = entries.map(({ client, name, target, file, isForAllFolders }) => [
    { text: "-" },
    { text: visibleLine(name) },
    { text: oneLine(target, MAX_TARGET_CHARS) },
    { text: `${client}, ${file}${isForAllFolders ? " (for all your folders)" : ""}` },
  ]);
  await write(
    choice === "ask" ? stderr : stdout,
    `${have} these beside ptc, so that a model sees each of their tools twice:\n${layOutTable(rows).join("\n")}\n`,
  );
  if (
    choice === "ask" &&
    !(await isConfirmed("Take them out? `ptc install --undo` puts them back.", surroundings))
  ) {
    await tell(stderr, "they stay; `ptc install --take-over` takes them out later");
    return;
  }
  await takeOut();
  const count = countNoun(entries.length, "entry").replace(/entrys$/, "entries");
  await write(
    stdout,
    `took out ${count}; \`ptc install --undo\` puts ${entries.length === 1 ? "it" : "them"} back\n`,
  );
}

/** Undoes changes to clients' files, and prints the outcome of each. */
export async function undoAndTell(
  { undo }: Undoable,
  { stdout, stderr }: Pick<Surroundings, "stdout" | "stderr">,
): Promise<ExitCode> {
  let exitCode: ExitCode = EXIT.done;
  for await (const { file, what, isRefused } of undo()) {
    if (!isRefused) await write(stdout, `${file}: ${what}\n`);
    else {
      exitCode = EXIT.failed;
      await tell(stderr, `${file}: ${what}; it stays as it is, change it by hand`);
    }
  }
  return exitCode;
}

const SIGNS = { "take out": "-", "put back": "+", "as before": "~" } as const;

/** The effect of undoing changes, in lines for people. */
export function renderChanges({ changes }: Undoable): string {
  const rows = changes.map(({ undoing, name, client, file, day }) => [
    { text: SIGNS[undoing] },
    { text: visibleLine(name) },
    { text: `${client}, ${file}` },
    { text: day },
  ]);
  return layOutTable(rows).join("\n");
}

/**
 * The servers of the clients on this machine. On a terminal a person chooses among them. In a pipe, the servers of a single file are
 * taken. If there are more files, they are listed, because nobody can choose.
 *
 * @throws Refusal when there are none; UsageError when nobody can choose.
 */
export async function chooseServers(surroundings: Surroundings): Promise<FoundServers> {
  const { stdout, stderr } = surroundings;
  const found = await findServers(surroundings);
  const isTerminal = canAsk(surroundings);
  if (!isTerminal && found.files === 1) return found;
  await write(isTerminal ? stderr : stdout, `${renderFound(found.servers)}\n`);
  if (!isTerminal)
    throw new UsageError(
      "these are in more than one file: take all of them with --import --all, or name one file",
    );
  return { ...found, servers: await choose(found.servers, surroundings) };
}

function renderFound(found: readonly FoundServer[]): string {
  const rows = found.map(({ entry, target, from }, index) => [
    { text: String(index + 1), align: "right" as const },
    { text: entry.name },
    { text: oneLine(target, MAX_TARGET_CHARS) },
    { text: visibleLine(from) },
  ]);
  return layOutTable(rows).join("\n");
}

async function choose(found: readonly FoundServer[], surroundings: Surroundings): Promise<FoundServer[]> {
  for (;;) {
    const answer = await ask("Which? Numbers (1,3-5), all or none [all]: ", surroundings);
    if (answer === undefined) throw new UsageError("nothing was chosen, and nothing was written");
    const chosen = parseChoice(answer, found.length);
    if (chosen !== undefined) return chosen.map((index) => found[index]).filter((each) => each !== undefined);
    await tell(surroundings.stderr, `write numbers from 1 to ${found.length}, all or none`);
  }
}

/** The chosen indices; `undefined` for an invalid choice. */
export function parseChoice(answer: string, count: number): number[] | undefined {
  const text = answer.trim().toLowerCase();
  if (text === "" || text === "all") return Array.from({ length: count }, (_, index) => index);
  if (text === "none") return [];
  const chosen = new Set<number>();
  for (const part of text.split(/[\s,]+/)) {
    const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(part) ?? [];
    const [from, to] = [Number(first), Number(last)];
    if (first === undefined || from < 1 || to > count || from > to) return undefined;
    for (let number = from; number <= to; number++) chosen.add(number - 1);
  }
  return [...chosen].sort((a, b) => a - b);
}

/** Whether a person at a terminal can be asked. */
export function canAsk({ stdin, stderr }: Pick<Surroundings, "stdin" | "stderr">): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks for a yes. Anything else is a no. */
export async function isConfirmed(question: string, surroundings: Surroundings): Promise<boolean> {
  return /^\s*y(?:es)?\s*$/i.test((await ask(`${question} [y/N]: `, surroundings)) ?? "");
}

/** A line that a person types; `undefined` on Ctrl-C and at the end of input. */
export function ask(prompt: string, { stdin, stderr }: Surroundings): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  return new Promise<string | undefined>((resolve) => {
    reader.on("SIGINT", () => resolve(undefined));
    reader.on("close", () => resolve(undefined));
    reader.question(prompt, resolve);
  }).finally(() => reader.close());
}
