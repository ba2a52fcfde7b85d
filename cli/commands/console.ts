import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import type { AuditLog } from "../../archive/audit/audit-log.ts";
import { clock } from "../../base/clock.ts";
import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { Console } from "../../console/console.ts";
import { OneTimeAddress } from "../../console/entrance.ts";
import { LoopbackServer } from "../../console/serve-console.ts";
import { openPending } from "../../execution/pending/open-pending.ts";
import { loadPrinters } from "../../languages/languages.ts";
import { loginStatus } from "../../logins/logins.ts";
import { openPasskeyStore, Passkeys } from "../../logins/passkeys.ts";
import { callForConsole } from "../../project/console/call.ts";
import { sessionsOfUser, tokensForConsole } from "../../project/console/me.ts";
import { testForConsole } from "../../project/console/programs.ts";
import { replayForConsole } from "../../project/console/replay.ts";
import { checkForConsole, connectForConsole, disconnectForConsole } from "../../project/console/servers.ts";
import type { Host } from "../../project/host.ts";
import { LOCAL_USER, localContext, localUserName } from "../../project/local-user.ts";
import { auditPath, openLoginAudit } from "../../project/open-audit.ts";
import { saveForConsole } from "../../project/programs/save-program.ts";
import { KeyList, SEALING_KEY_BYTES } from "../../secrets/sealing.ts";
import { openAudit, openRuns } from "../../storage/storage.ts";
import {
  CONFIG,
  defineCommand,
  EXIT,
  type ExitCode,
  SIGNALS,
  type Surroundings,
  tell,
  UsageError,
  warnOn,
  write,
} from "../command.ts";
import { canOpenBrowser, openBrowser } from "../open-browser.ts";
import { toolsFor } from "./tools.ts";

/** `ptc console` */
export const consoleCommand = defineCommand("console", openConsole, (command) =>
  command
    .description("open the console in a browser: what runs, what waits for you, and what may be called")
    .option(...CONFIG)
    .option("--port <number>", "the port on 127.0.0.1 (default: one that is free)")
    .option("--no-open", "print the address, and open no browser")
    .addHelpText(
      "after",
      "\nThe address works once, for ten minutes, in one browser, which keeps the console for twelve hours. Enter prints another. It ends with Ctrl-C. With approvals.require: passkey the address is one of localhost, which passkeys need.\n\nExample:\n  ptc console --no-open\n",
    ),
);

interface ConsoleFlags {
  config?: string;
  port?: string;
  /** False with `--no-open`. */
  open: boolean;
}

async function openConsole(flags: ConsoleFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stderr } = surroundings;
  const port = portIn(flags.port);
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: surroundings.cwd() });
  const stopped = Promise.withResolvers<void>();
  for (const signal of SIGNALS) surroundings.on(signal, () => stopped.resolve());
  let server: LoopbackServer;
  try {
    server = await LoopbackServer.listen(
      port,
      configuration.approvals.require === "passkey" ? "localhost" : "127.0.0.1",
    );
  } catch (error) {
    await tell(stderr, `cannot listen at 127.0.0.1:${port}: ${oneLine(messageOf(error))}`);
    return EXIT.failed;
  }
  const now = () => Math.round(clock.wallMs());
  const address = new OneTimeAddress({ ...LOCAL_USER, name: localUserName() }, now);
  const opened = await consoleOf(configuration, { server, address, now }, surroundings);
  server.serve(opened.console);
  const show = async (isFirst: boolean) => {
    const url = address.make(server.origin);
    const isOpened = isFirst && flags.open && canOpenBrowser(env) && (await openBrowser(url, env));
    const line = isOpened
      ? "ptc: the console was opened in a browser; it is at"
      : "ptc: open the console, once, at";
    await write(stderr, `${line}\n  ${url}\n`);
  };
  await show(true);
  const reader =
    surroundings.stdin.isTTY === true ? createInterface({ input: surroundings.stdin }) : undefined;
  reader?.on("line", () => void show(false));
  reader?.on("close", () => stopped.resolve());
  await stopped.promise;
  reader?.close();
  opened.console.close();
  await server.close();
  await opened.close();
  return EXIT.done;
}

/** The console of a project for whoever sits at this machine, who sees what commands show them. */
async function consoleOf(
  configuration: Configuration,
  { server, address, now }: { server: LoopbackServer; address: OneTimeAddress; now: () => number },
  surroundings: Surroundings,
) {
  const { env, stderr } = surroundings;
  const archive = openRuns(configuration, env);
  const key = new KeyList([randomBytes(SEALING_KEY_BYTES)]);
  const pending = await openPending(configuration, env);
  const onWarning = warnOn(stderr);
  let host: Promise<Host> | undefined;
  let audit: AuditLog | undefined;
  const hosted = () => {
    host ??= import("../../project/open-host.ts").then(({ openHost }) =>
      openHost({ configuration, env, warm: 0, onWarning }),
    );
    return host;
  };
  const console = new Console({
    project: basename(configuration.directory),
    origin: server.origin,
    configuration: () => configuration,
    archive,
    pending: async () => pending,
    audit: openAudit(configuration, env, auditPath(configuration)),
    tools: () => toolsFor(configuration, surroundings),
    printers: () => loadPrinters(configuration.languages),
    replay: async (viewer, runId, signal) => replayForConsole(await hosted(), archive, viewer, runId, signal),
    logins: ({ principal }) =>
      loginStatus(configuration, principal, env).catch((error: unknown) => {
        onWarning(messageOf(error));
        return undefined;
      }),
    test: async (_, name, signal) => testForConsole(await hosted(), LOCAL_USER, name, signal),
    connect: async ({ principal }, server, signal) =>
      connectForConsole(await hosted(), principal, server, signal),
    disconnect: async ({ principal }, server) => disconnectForConsole(await hosted(), principal, server, env),
    check: async ({ principal }, signal) => checkForConsole(await hosted(), principal, signal),
    tokens: tokensForConsole(() => configuration, env),
    sessions: () => sessionsOfUser(configuration, env),
    call: async (_, call, signal) => {
      const context = { ...localContext("call", env), client: { name: "ptc console" } };
      return callForConsole(await hosted(), context, call, signal);
    },
    save: async (asked) => saveForConsole(await hosted(), archive, asked),
    passkeys: new Passkeys({
      store: openPasskeyStore(env, configuration),
      origin: server.origin,
      sealer: async () => key,
      now,
      onChange: (change) => {
        audit ??= openLoginAudit(configuration, env, onWarning);
        audit.login(change);
        const what = change.event === "passkey_added" ? "registered" : "removed";
        onWarning(`a passkey was ${what} in the console, ${change.credential} (${change.reason ?? ""})`);
      },
    }),
    entrance: address,
    rightsOf: async () => ({ runs: "all", audit: "all", approves: true, replays: true, saves: true }),
    nameInAudit: ({ name }) => name,
    sealer: async () => key,
    now,
    onWarning,
  });
  return {
    console,
    async close() {
      await (await host)?.close();
      await audit?.close();
      await archive.close();
    },
  };
}

function portIn(text = "0"): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port >= 0 && port <= 65_535) return port;
  throw new UsageError(`--port: '${oneLine(text, 40)}' is not a port, a number from 0 to 65535`);
}
