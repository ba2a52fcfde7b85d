import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { jsonLine } from "../../../base/json.ts";
import { oneLine, visibleLine } from "../../../base/visible-text.ts";
import { countTools } from "../../../catalog/parse-tool.ts";
import type { Configuration } from "../../../configuration/configuration.ts";
import { isRemote } from "../../../configuration/configured-servers.ts";
import { loadConfiguration } from "../../../configuration/load.ts";
import { beginLogin, loginServer, type WaitingLogin } from "../../../logins/log-in.ts";
import { UpstreamError } from "../../../upstream/upstream-error.ts";
import { openLoginAudit } from "../../../wiring/login-audit.ts";
import { openHost } from "../../../wiring/open-host.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { LOCAL_USER } from "../../local-user.ts";
import { exitOnSignals, type Surroundings, write } from "../../surroundings.ts";

interface LoginFlags {
  config?: string;
  browser: boolean;
  timeout?: string;
  json?: boolean;
}

const DEFAULT_TIMEOUT_SECONDS = 300;
const MAX_TIMEOUT_SECONDS = 86_400;

/** `ptc auth login` */
export const defineLogin: DefineCommand = (auth, surroundings, finish) => {
  auth
    .command("login [server]")
    .description("log in to a server with a browser, and keep the login for this user")
    .option("--no-browser", "print the address, and take the one that the browser ends up at from stdin")
    .option("--timeout <seconds>", "how long to wait for the browser", String(DEFAULT_TIMEOUT_SECONDS))
    .option("--config <file>", "configuration file")
    .option("--json", "print the outcome as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  ptc auth login internal-apis\n  ptc auth login internal-apis --no-browser\n",
    )
    .action(async (name: string | undefined, flags: LoginFlags) => {
      finish(await login(name, flags, surroundings));
    });
};

/** Logs in to a server, and tells what came of it. */
export async function login(
  name: string | undefined,
  flags: LoginFlags,
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  const { principal } = LOCAL_USER;
  exitOnSignals(surroundings);
  const timeoutMs = parseTimeout(flags.timeout) * 1_000;
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const server = loginServerOf(configuration, name);
  const audit = openLoginAudit(configuration, env, (message) =>
    surroundings.stderr.write(`ptc: warning: ${message}\n`),
  );
  try {
    const waiting = await beginLogin(server, principal, { env, onLogin: (event) => audit.login(event) });
    if (waiting !== undefined) await waitForPerson(waiting, { ...flags, timeoutMs }, surroundings);
    const { tools, problem } = await tryServer(configuration, server.name, surroundings);
    const outcome = {
      server: server.name,
      login: waiting !== undefined,
      issuer: waiting?.issuer,
      tools,
      problem,
    };
    const what =
      waiting === undefined ? `'${server.name}' asks for no login` : `logged in to '${server.name}'`;
    const found =
      problem === undefined ? `${tools} tool${tools === 1 ? "" : "s"}` : "but it cannot be used yet";
    await write(stdout, `${flags.json ? jsonLine(outcome) : `${what}: ${found}`}\n`);
    if (problem !== undefined) await write(stderr, `ptc: ${oneLine(problem)}\n`);
    return problem === undefined ? EXIT.done : EXIT.failed;
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    await write(stderr, `ptc: ${oneLine(error.message)}\n`);
    return EXIT.failed;
  } finally {
    await audit.close();
  }
}

/** The server to log in to: the one that is named, or the only one there is. */
function loginServerOf(configuration: Configuration, name: string | undefined) {
  try {
    if (name !== undefined) return loginServer(configuration, name);
    const able = configuration.servers.filter(
      (server) => isRemote(server) && server.off === undefined && server.auth?.type === "oauth",
    );
    const [only] = able;
    if (only !== undefined && able.length === 1) return loginServer(configuration, only.name);
    const names = able.map((server) => server.name).join(", ");
    throw new UsageError(
      only === undefined
        ? "no server of the configuration has a login"
        : `name the server to log in to: ${names}`,
    );
  } catch (error) {
    throw error instanceof UpstreamError ? new UsageError(error.message) : error;
  }
}

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

/** Lists the tools of the server, so that a login that does not do is noticed by whoever made it. */
async function tryServer(
  configuration: Configuration,
  name: string,
  { env }: Surroundings,
): Promise<{ tools: number; problem?: string }> {
  const host = openHost({ configuration, env, onWarning: () => {} });
  try {
    const listing = await (await host.servers(LOCAL_USER.principal)).get(name)?.list();
    return { tools: countTools(listing?.tools ?? []) };
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    return { tools: 0, problem: error.message };
  } finally {
    await host.close();
  }
}

function parseTimeout(text = String(DEFAULT_TIMEOUT_SECONDS)): number {
  const seconds = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= MAX_TIMEOUT_SECONDS) return seconds;
  throw new UsageError(`--timeout must be a whole number from 1 to ${MAX_TIMEOUT_SECONDS}`);
}

/** How long a launcher that does not end is waited for: by then, it has opened something. */
const PATIENCE_MS = 1_500;

/** Whether there is a browser that would show on this person's screen. Over SSH, it would show on another. */
function canOpenBrowser(env: Surroundings["env"], platform = process.platform): boolean {
  if (env.BROWSER) return true;
  if (env.SSH_CONNECTION || env.SSH_TTY) return false;
  return platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY || env.WSL_DISTRO_NAME);
}

/** Opens an address in the person's browser. Whether that seems to have worked; nothing of it is waited for. */
async function openBrowser(url: string, env: Surroundings["env"]): Promise<boolean> {
  const [command = "", ...args] = launcher(env);
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: "ignore", detached: true, env: { ...env } });
    const timer = setTimeout(() => resolve(true), PATIENCE_MS);
    const settle = (worked: boolean) => {
      clearTimeout(timer);
      resolve(worked);
    };
    child.on("error", () => settle(false));
    child.on("exit", (code) => settle(code === 0));
    child.unref();
  });
}

/** `BROWSER` names a program, as for other commands; else it is what the system has for opening addresses. */
function launcher(env: Surroundings["env"]): string[] {
  if (env.BROWSER) return [env.BROWSER];
  if (process.platform === "darwin") return ["open"];
  // No shell: in one, the `&` of an address would end the command.
  if (process.platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return env.WSL_DISTRO_NAME ? ["rundll32.exe", "url.dll,FileProtocolHandler"] : ["xdg-open"];
}
