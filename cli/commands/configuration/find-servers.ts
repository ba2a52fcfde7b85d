import { homedir } from "node:os";
import { createInterface } from "node:readline";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { findClientFiles } from "../../../configuration/clients/import/client-files.ts";
import { type ImportedServers, importServers } from "../../../configuration/clients/import/import-servers.ts";
import {
  ClientFileError,
  MAX_CLIENT_FILE_BYTES,
  readClientFile,
} from "../../../configuration/clients/import/read-client-file.ts";
import type { ServerEntry } from "../../../configuration/settings/server-settings.ts";
import { serverModule } from "../../../protocol/tool-names.ts";
import { UsageError } from "../../exit-code.ts";
import { layOutTable } from "../../run-report/text-table.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { readTextFile } from "../../text-file.ts";

const MAX_TARGET_CHARS = 48;

/** A server that is in a file of a client's on this machine. */
interface FoundServer {
  entry: ServerEntry;
  /** The client and its file, for people. */
  from: string;
}

/**
 * The servers that clients on this machine have. On a terminal a person chooses among them; in a pipe those of the only file
 * are taken, and where there are more files they are listed, for nobody can choose.
 *
 * @param isAll takes all of them without a question.
 * @throws UsageError when there are none, and when nobody can choose.
 */
export async function findServers(isAll: boolean, surroundings: Surroundings): Promise<ImportedServers> {
  const { env, stdin, stdout, stderr } = surroundings;
  const cwd = surroundings.cwd();
  const found = new Map<string, FoundServer>();
  const skipped: ImportedServers["skipped"] = [];
  const sources = new Set<string>();
  for (const { client, path, ...options } of findClientFiles(env, cwd)) {
    const where = `${client}, ${shownPath(path, surroundings)}`;
    const imported = await readQuietly(path, cwd, options);
    if (typeof imported === "string") skipped.push({ name: where, why: imported });
    if (typeof imported === "string" || imported === undefined) continue;
    for (const { name, why } of imported.skipped) skipped.push({ name, why: `${why} (${where})` });
    for (const entry of imported.servers) {
      const module = serverModule(entry.name);
      if (found.has(module)) {
        skipped.push({ name: entry.name, why: `one of that name is taken from elsewhere (${where})` });
        continue;
      }
      found.set(module, { entry, from: where });
      sources.add(path);
    }
  }
  const all = [...found.values()];
  if (all.length === 0) {
    const [first] = skipped;
    const why = first === undefined ? "" : `: '${oneLine(first.name, 80)}': ${first.why}`;
    throw new UsageError(
      `--import: no client on this machine has servers that ptc can use${why}; name a file`,
    );
  }
  const take = (chosen: readonly FoundServer[]) => ({
    servers: chosen.map(({ entry }) => entry),
    skipped,
    withValues: [],
  });
  if (isAll) return take(all);
  const isTerminal = stdin.isTTY === true && stderr.isTTY === true;
  if (!isTerminal && sources.size === 1) return take(all);
  await write(isTerminal ? stderr : stdout, `${renderFound(all)}\n`);
  if (!isTerminal)
    throw new UsageError(
      "these are in more than one file: take all of them with --import --all, or name one file",
    );
  return take(await choose(all, surroundings));
}

async function readQuietly(
  path: string,
  cwd: string,
  options: { pluginRoot?: string; isGemini?: boolean },
): Promise<ImportedServers | string | undefined> {
  try {
    const text = await readTextFile(path, cwd, MAX_CLIENT_FILE_BYTES);
    return importServers(await readClientFile(path, text), cwd, options);
  } catch (error) {
    if (error instanceof ClientFileError) return `its file ${error.message}`;
    if (error instanceof UsageError) return "its file cannot be read";
    throw error;
  }
}

function renderFound(found: readonly FoundServer[]): string {
  const rows = found.map(({ entry, from }, index) => [
    { text: String(index + 1), align: "right" as const },
    { text: entry.name },
    {
      text: oneLine(
        entry.url === undefined ? (entry.command ?? "") : withoutQuery(entry.url),
        MAX_TARGET_CHARS,
      ),
    },
    { text: visibleLine(from) },
  ]);
  return layOutTable(rows).join("\n");
}

/** Where the URL leads, without what may be secret in it. */
function withoutQuery(url: string): string {
  return url.replace(/^([a-z]+:\/\/)[^/@]*@/i, "$1").replace(/[?#].*$/, "");
}

async function choose(found: readonly FoundServer[], surroundings: Surroundings): Promise<FoundServer[]> {
  for (;;) {
    const answer = await ask("Which? Numbers (1,3-5), all or none [all]: ", surroundings);
    if (answer === undefined) throw new UsageError("nothing was chosen, and nothing was written");
    const chosen = parseChoice(answer, found.length);
    if (chosen !== undefined) return chosen.map((index) => found[index]).filter((each) => each !== undefined);
    await write(surroundings.stderr, `ptc: write numbers from 1 to ${found.length}, all or none\n`);
  }
}

/** The indices that were chosen; `undefined` for what is no choice. */
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

/** A line that a person types; `undefined` on Ctrl-C and at the end of input. */
export function ask(prompt: string, { stdin, stderr }: Surroundings): Promise<string | undefined> {
  const reader = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 });
  return new Promise<string | undefined>((resolve) => {
    reader.on("SIGINT", () => resolve(undefined));
    reader.on("close", () => resolve(undefined));
    reader.question(prompt, resolve);
  }).finally(() => reader.close());
}

function shownPath(path: string, { env, cwd }: Pick<Surroundings, "env" | "cwd">): string {
  const here = `${cwd()}/`;
  const home = `${env.HOME || homedir()}/`;
  if (path.startsWith(here)) return path.slice(here.length);
  return path.startsWith(home) ? `~/${path.slice(home.length)}` : path;
}
