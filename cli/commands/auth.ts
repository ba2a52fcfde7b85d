import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { jsonLine } from "../../base/json.ts";
import { oneLine, visibleLine } from "../../base/visible-text.ts";
import {
  describeLogin,
  logIn,
  loginsHere,
  logOutHere,
  readPipedSecret,
  refuseSecretValue,
  secretNamed,
  serverToLogIn,
} from "../../project/logins.ts";
import type { Project } from "../../project/open-project.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  defineGroup,
  EXIT,
  type ExitCode,
  exitOnSignals,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { canOpenBrowser, openBrowser } from "../open-browser.ts";
import { defineProjectCommand } from "../project-command.ts";

/** `ptc auth ...`: logins and secrets for servers. */
export const authCommand = defineGroup(
  "auth",
  () => [defineLogin, defineLogout, defineStatus, defineSet],
  (command) =>
    command
      .description("log in to servers, and keep secrets for them")
      .addHelpText("after", "\nExamples:\n  ptc auth login internal-apis\n  ptc auth set github-token\n"),
);

/** `ptc auth logout` */
const defineLogout = defineProjectCommand("logout <server>", logout, (command) =>
  command
    .description("forget the login at a server, and revoke its tokens if the server offers that")
    .option(...CONFIG)
    .option("--json", "print the outcome as JSON")
    .addHelpText("after", "\nExample:\n  ptc auth logout internal-apis\n"),
);

async function logout(
  project: Project,
  name: string,
  flags: CommonFlags,
  { stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const found = await logOutHere(project, name);
  if ("why" in found) {
    await tell(stderr, oneLine(found.why));
    return EXIT.usage;
  }
  const { server, wasLoggedIn, isRevoked, problem } = found;
  const how = isRevoked === true ? ", and its tokens are revoked" : "";
  const text = wasLoggedIn ? `logged out of '${server}'${how}` : `'${server}' had no login`;
  await write(stdout, `${flags.json ? jsonLine(found) : text}\n`);
  if (problem !== undefined) await tell(stderr, `warning: ${oneLine(problem)}`);
  return EXIT.done;
}

/** `ptc auth status` */
const defineStatus = defineProjectCommand("status [server]", showStatus, (command) =>
  command
    .description("show which servers you are logged in to, without contacting them")
    .option(...CONFIG)
    .option("--json", "print them as JSON")
    .addHelpText("after", "\nExample:\n  ptc auth status\n"),
);

async function showStatus(
  project: Project,
  name: string | undefined,
  flags: CommonFlags,
  { stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const all = await loginsHere(project, name);
  if (all === undefined)
    throw new UsageError(`server '${oneLine(name ?? "", 64)}' is not in the configuration`);
  if ("why" in all) {
    await tell(stderr, oneLine(all.why));
    return EXIT.failed;
  }
  const width = Math.max(0, ...all.map(({ server }) => server.length));
  const lines = all.map((status) => `${status.server.padEnd(width)}  ${describeLogin(status)}\n`);
  await write(stdout, flags.json ? `${jsonLine(all)}\n` : lines.join(""));
  return EXIT.done;
}

/** `ptc auth set NAME` */
const defineSet = defineCommand("set", set, (command) =>
  command
    .description("put a secret into the keyring, for { keyring: NAME } in ptc.yaml, without showing it")
    .argument("<name>", "letters, digits, . _ / and -")
    .option("--remove", "take it out again")
    .addHelpText(
      "after",
      "\nptc asks for the secret on the terminal, or reads it from stdin. It is not an argument, because other users can see those.\n\nExample:\n  ptc auth set github-token\n  pass show github | ptc auth set github-token\n",
    ),
);

async function set(
  name: string,
  { remove = false }: { remove?: boolean },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  const secret = secretNamed(name, env);
  if (remove) {
    const removed = await secret.remove();
    if (!removed.ok) return failed(removed.why);
    if (!removed.wasThere) throw new UsageError(`there is no '${name}' that \`ptc auth set\` has kept`);
    await write(stdout, `'${name}' is removed\n`);
    return EXIT.done;
  }
  const value = await readValue(name, surroundings);
  if (value === undefined) return EXIT.failed;
  const kept = await secret.keep(value);
  if (!kept.ok) return failed(kept.why);
  await write(stdout, `'${name}' is kept in ${kept.where}; ptc.yaml takes it as { keyring: ${name} }\n`);
  return EXIT.done;

  async function failed(why: string): Promise<ExitCode> {
    await tell(stderr, `'${name}': ${why}`);
    return EXIT.failed;
  }
}

/** The value without the line feed at its end; `undefined` if the person gave none. */
async function readValue(name: string, surroundings: Surroundings): Promise<string | undefined> {
  const { stdin, stderr } = surroundings;
  if (stdin.isTTY === true && stderr.isTTY !== true)
    throw new UsageError(`there is no terminal to ask for '${name}' on; pipe it in`);
  const value =
    stdin.isTTY === true
      ? await readHidden(`Value of '${name}' (it is not shown): `, surroundings)
      : await readPipedSecret(stdin);
  if (value === undefined) return undefined;
  refuseSecretValue(name, value);
  return value;
}

/** How long to wait for further lines of a pasted text. */
const PASTE_MS = 100;

/**
 * Asks for a line on the terminal without showing it. Resolves with `undefined` on Ctrl-C or at the end of input.
 *
 * @throws UsageError for a text of several lines, because a shell would get the rest.
 */
export async function readHidden(
  prompt: string,
  { stdin, stderr }: Pick<Surroundings, "stdin" | "stderr">,
): Promise<string | undefined> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  const lines: string[] = [];
  stderr.write(prompt);
  try {
    const isGiven = await new Promise<boolean>((resolve) => {
      reader.on("line", (line) => {
        lines.push(line);
        resolve(true);
      });
      reader.on("SIGINT", () => resolve(false));
      reader.on("close", () => resolve(false));
    });
    if (!isGiven) return undefined;
    await delay(PASTE_MS);
    if (lines.length > 1 || reader.line !== "")
      throw new UsageError("that has more than one line, and nothing was changed; pipe it in");
    return lines[0];
  } finally {
    reader.close();
    stderr.write("\n");
  }
}

interface LoginFlags extends CommonFlags {
  browser: boolean;
  timeout?: string;
}

const DEFAULT_TIMEOUT_SECONDS = 300;
const MAX_TIMEOUT_SECONDS = 86_400;

/** `ptc auth login` */
const defineLogin = defineProjectCommand("login [server]", login, (command) =>
  command
    .description("log in to a server with a browser, and keep the login for this user")
    .option(
      "--no-browser",
      "print the address, and read the one that the browser is redirected to from stdin",
    )
    .option("--timeout <seconds>", "how long to wait for the browser", String(DEFAULT_TIMEOUT_SECONDS))
    .option(...CONFIG)
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc auth login internal-apis\n  ptc auth login internal-apis --no-browser\n",
    ),
);

/** Logs in to a server, and reports the outcome. */
export async function login(
  project: Project,
  name: string | undefined,
  flags: LoginFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr } = surroundings;
  exitOnSignals(surroundings);
  const timeoutMs = parseTimeout(flags.timeout) * 1_000;
  const server = await serverToLogIn(project, name);
  if ("why" in server) throw new UsageError(server.why);
  const loggedIn = await logIn(project, server, (waiting) =>
    waitForPerson(waiting, { ...flags, timeoutMs }, surroundings),
  );
  if ("why" in loggedIn) {
    await tell(stderr, oneLine(loggedIn.why));
    return EXIT.failed;
  }
  const { issuer, tools, problem } = loggedIn;
  const hasLogin = issuer !== undefined;
  const what = hasLogin ? `logged in to '${server.name}'` : `'${server.name}' asks for no login`;
  const offer =
    problem === undefined ? `${tools} tool${tools === 1 ? "" : "s"}` : "but it cannot be used yet";
  const outcome = { server: server.name, login: hasLogin, issuer, tools, problem };
  await write(stdout, `${flags.json ? jsonLine(outcome) : `${what}: ${offer}`}\n`);
  if (problem !== undefined) await tell(stderr, oneLine(problem));
  return problem === undefined ? EXIT.done : EXIT.failed;
}

type WaitingLogin = Parameters<Parameters<typeof logIn>[2]>[0];

async function waitForPerson(
  waiting: WaitingLogin,
  { browser, timeoutMs }: { browser: boolean; timeoutMs: number },
  { env, stdin, stderr }: Surroundings,
): Promise<void> {
  const opened = browser && canOpenBrowser(env) && (await openBrowser(waiting.url, env));
  const isTyped = stdin.isTTY === true || !browser;
  const lines = [
    opened ? "ptc: log in with the browser that was just opened, or at" : "ptc: log in with a browser at",
    `  ${visibleLine(waiting.url)}`,
    ...(isTyped
      ? [
          `ptc: if the browser runs elsewhere, it ends up at ${waiting.redirectUri}?..., which it cannot open: paste that address here`,
        ]
      : []),
  ];
  await write(stderr, `${lines.join("\n")}\n`);
  const reader = isTyped ? createInterface({ input: stdin }) : undefined;
  reader?.on("line", (line) => {
    if (line.trim() === "") return;
    const problem = waiting.paste(line);
    if (problem !== undefined) stderr.write(`ptc: ${problem}\n`);
  });
  const timer = setTimeout(
    () => waiting.cancel(`nobody did within ${timeoutMs / 1_000} s; --timeout gives it longer`),
    timeoutMs,
  );
  try {
    await waiting.done;
  } finally {
    clearTimeout(timer);
    reader?.close();
    stdin.pause();
  }
}

function parseTimeout(text = String(DEFAULT_TIMEOUT_SECONDS)): number {
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new UsageError(`--timeout must be a whole number from 1 to ${MAX_TIMEOUT_SECONDS}`);
}
