/**
 * `npm run try-servers [-- NAME...]`: starts servers of scripts/try-servers.yaml as processes of this machine and in sandboxes, compares the
 * tools that they list and the answer to one call, and prints a table. It fetches packages, so it needs the registries of npm and Python.
 * Exit code 1 if a server that works as a process works otherwise in its sandbox.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { messageOf } from "../base/faults.ts";
import { parseConfiguration } from "../configuration/parse.ts";
import { Project } from "../project/open-project.ts";
import { composeUpstreams } from "../project/servers/upstreams.ts";

interface Tried {
  command: "npx" | "uvx";
  package: string;
  /** The program to start, where it has another name than its package. */
  program?: string;
  args?: string[];
  env?: Record<string, string>;
  /** Whether the server gets a folder with notes.txt. */
  files?: boolean;
  network?: string[];
  /** A tool, and its arguments. */
  call?: Record<string, Record<string, unknown>>;
}

/** What one server said, one way. */
interface Said {
  tools: unknown[];
  answer: unknown;
}

const START_SECONDS = 180;
const CALL_MS = 60_000;
/** Where a sandbox has the files of its entry that are not the project's. */
const INSIDE = "/srv/files";

process.exit(await main(process.argv.slice(2)));

async function main(names: string[]): Promise<number> {
  const all = parse(readFileSync(join(import.meta.dirname, "try-servers.yaml"), "utf8")) as Tried[];
  const chosen = all.filter((tried) => names.length === 0 || names.includes(tried.package));
  let differing = 0;
  process.stdout.write("| server | tools | in a sandbox |\n|---|---|---|\n");
  for (const tried of chosen) {
    const folder = mkdtempSync(join(tmpdir(), "ptc-try-"));
    chmodSync(folder, 0o755);
    try {
      const plain = await attempt(tried, join(folder, "process"), false);
      const walled = await attempt(tried, join(folder, "sandbox"), true);
      const [verdict, isKept] = judge(plain, walled);
      if (!isKept) differing++;
      const tools = typeof plain === "string" ? "" : plain.tools.length;
      process.stdout.write(`| \`${tried.command} ${tried.package}\` | ${tools} | ${verdict} |\n`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return differing === 0 ? 0 : 1;
}

/** What to say of both ways, and whether the sandbox took nothing away. */
function judge(plain: Said | string, walled: Said | string): [string, boolean] {
  if (typeof plain === "string") return [`does not start as a process either: ${plain}`, true];
  if (typeof walled === "string") return [`does not start: ${walled}`, false];
  const other = walled.tools.find((tool, index) => !isDeepStrictEqual(tool, plain.tools[index]));
  if (other !== undefined || plain.tools.length !== walled.tools.length)
    return [
      `lists ${walled.tools.length} tools, the first difference: ${differing(plain.tools, walled.tools)}`,
      false,
    ];
  if (plain.answer === undefined) return ["the same tools", true];
  if (isDeepStrictEqual(plain.answer, walled.answer)) return ["the same tools, the same answer", true];
  return [`answers otherwise: ${brief(walled.answer)}, and as a process ${brief(plain.answer)}`, false];
}

/** A value with another path in its texts: a sandbox has files elsewhere than this machine. */
function renamed(value: unknown, from: string, to: string): unknown {
  return JSON.parse(JSON.stringify(value).replaceAll(from, to)) as unknown;
}

/** Where two lists of tools first differ, with the text there. */
function differing(plain: unknown, walled: unknown): string {
  const [before, after] = [JSON.stringify(plain), JSON.stringify(walled)];
  let at = 0;
  while (at < before.length && before[at] === after[at]) at++;
  return brief([before.slice(Math.max(0, at - 60), at + 60), after.slice(Math.max(0, at - 60), at + 60)]);
}

function brief(value: unknown): string {
  return JSON.stringify(value).replaceAll("|", "\\|").slice(0, 300);
}

/** Starts a server one way, and asks it. A text says in one line why it does not start. */
async function attempt(tried: Tried, folder: string, isWalled: boolean): Promise<Said | string> {
  const files = join(folder, "..", "files");
  rmSync(files, { recursive: true, force: true });
  mkdirSync(folder);
  mkdirSync(files);
  chmodSync(files, 0o777);
  writeFileSync(join(files, "notes.txt"), "Tea at four.\n");
  const own = JSON.parse(JSON.stringify(tried).replaceAll("FILES", files)) as Tried;
  const packaged =
    own.program === undefined
      ? [own.package]
      : own.command === "uvx"
        ? ["--from", own.package, own.program]
        : ["-p", own.package, own.program];
  const sandbox = {
    network: own.network ?? [],
    files: own.files === true ? [{ path: files, write: true }] : [],
    memory_mb: 1024,
  };
  const server = {
    name: "tried",
    command: own.command,
    args: [...(own.command === "npx" ? ["-y"] : []), ...packaged, ...(own.args ?? [])],
    env: own.env ?? {},
    connect_timeout_seconds: START_SECONDS,
    ...(isWalled && { sandbox }),
  };
  const text = JSON.stringify({ servers: [server] });
  const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: folder, environment: {} });
  const project = new Project(configuration, {
    env: process.env,
    keyring: { get: async () => undefined },
    onWarning: () => {},
  });
  try {
    const { pool } = composeUpstreams(project, { resolvesPackages: true });
    const upstream = pool.get("local", "tried");
    if (upstream === undefined) throw new Error("no such server");
    const { tools } = await upstream.list();
    const [call] = Object.entries(own.call ?? {});
    if (call === undefined) return { tools, answer: undefined };
    const [tool, args] = call;
    const inside = isWalled ? INSIDE + files : files;
    const answer = await upstream
      .call({
        tool,
        arguments: renamed(args, files, inside),
        signal: new AbortController().signal,
        timeoutMs: CALL_MS,
      })
      .catch((error: unknown) => ({ failed: messageOf(error) }));
    return { tools, answer: renamed(answer, inside, files) };
  } catch (error) {
    return messageOf(error).replaceAll("|", "\\|").slice(0, 400);
  } finally {
    await project.close();
  }
}
