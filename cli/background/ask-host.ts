import { connect, type Socket } from "node:net";
import type { Readable } from "node:stream";
import type { CallersProcess } from "./callers-process.ts";
import { CallersStdin } from "./callers-stdin.ts";
import { followHost } from "./follow-host.ts";
import { type MessageToCaller, receiveMessages, sendMessage } from "./host-messages.ts";
import { findHost, findProject, placeOf, UnsafePlaceError } from "./host-place.ts";
import { describeBuild } from "./ptc-build.ts";

/** The commands that a background host runs. */
const SHARED_COMMANDS: ReadonlySet<string | undefined> = new Set(["run", "list", "search", "inspect"]);

/** How long a host may take for its first word. One that is stopped takes connections too. */
const WELCOME_PATIENCE_MS = 1_000;

/** How a command that a host was asked for goes on. */
export type Asked =
  | { kind: "done"; exitCode: number }
  | {
      kind: "alone";
      /** What the user is told, without a line feed. */
      why?: string | undefined;
      /** Whether a host may be started for the next command. */
      mayStart: boolean;
      /** Where stdin goes on, with what the host has read of it already. */
      stdin?: Readable | undefined;
      /** The run that had begun to make calls when its host was lost. It must not be made again. */
      lostRun?: string | undefined;
    };

/**
 * Has the background host of this project run the command of this process. Where there is none, and where anything is
 * wrong with it, the command is left to be run in this process.
 */
export async function askHost(caller: CallersProcess): Promise<Asked> {
  const { argv, env } = caller;
  const [command, ...rest] = argv.slice(2);
  const isOff = env.PTC_HOST === "off" || rest.includes("--no-host");
  const isHelp = rest.includes("--help") || rest.includes("-h");
  if (!SHARED_COMMANDS.has(command) || isOff || isHelp || process.getuid === undefined)
    return { kind: "alone", mayStart: false };
  try {
    const project = findProject({ flag: configFlag(rest), env, cwd: caller.cwd() });
    if (project === undefined) return { kind: "alone", mayStart: false };
    const found = findHost(placeOf(project, env));
    if (found === undefined) return { kind: "alone", mayStart: true };
    return await askAt(found, project.fileDigest, caller);
  } catch (error) {
    if (error instanceof UnsafePlaceError)
      return { kind: "alone", mayStart: false, why: `the background host is not used: ${error.message}` };
    // Whatever is wrong with the host's place or the configuration, the command itself can say better.
    if (error instanceof Error && "code" in error) return { kind: "alone", mayStart: false };
    throw error;
  }
}

async function askAt(
  { socket: path, token }: { socket: string; token: string },
  fileDigest: string,
  caller: CallersProcess,
): Promise<Asked> {
  const socket = await connectTo(path);
  if (typeof socket === "string") return { kind: "alone", mayStart: true, why: socket };
  const stdin = new CallersStdin(caller);
  const followed = followHost(socket, stdin, caller, WELCOME_PATIENCE_MS);
  void sendMessage(socket, {
    kind: "hello",
    wants: "command",
    token,
    fileDigest,
    build: describeBuild(caller.argv[1] ?? ""),
    argv: caller.argv,
    env: caller.env,
    cwd: caller.cwd(),
    stdin: { isTTY: caller.stdin.isTTY === true },
    stdout: { isTTY: caller.stdout.isTTY === true, columns: caller.stdout.columns },
    stderr: { isTTY: caller.stderr.isTTY === true, columns: caller.stderr.columns },
  });
  const end = await followed;
  socket.destroy();
  if (end.kind === "exit") return { kind: "done", exitCode: end.code };
  return {
    kind: "alone",
    why: end.why,
    mayStart: end.kind === "lost" || end.isReplaced,
    stdin: stdin.rest(),
    lostRun: end.kind === "lost" ? end.runId : undefined,
  };
}

/** Connects, or says why not. */
export function connectTo(path: string): Promise<Socket | string> {
  const socket = connect(path);
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      socket.destroy();
      resolve("the background host does not take connections");
    }, WELCOME_PATIENCE_MS);
    socket.once("connect", () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.on("error", () => {
      clearTimeout(timer);
      resolve("the background host has ended unexpectedly");
    });
  });
}

/** The value of `--config`, as far as it can be told without knowing each option. The host reads the arguments anew. */
function configFlag(args: readonly string[]): string | undefined {
  const at = args.lastIndexOf("--config");
  return at >= 0
    ? args[at + 1]
    : args.findLast((arg) => arg.startsWith("--config="))?.slice("--config=".length);
}

/** Asks a host for something that it answers with one message. */
export async function askOnce(
  socket: Socket,
  wants: "status" | "stop",
  { token, patienceMs }: { token: string; patienceMs: number },
): Promise<MessageToCaller | undefined> {
  const none = { isTTY: false };
  const hello = {
    kind: "hello",
    wants,
    token,
    build: "",
    fileDigest: "",
    argv: [],
    env: {},
    cwd: "/",
  } as const;
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), patienceMs);
    const settle = (message: MessageToCaller | undefined) => {
      clearTimeout(timer);
      resolve(message);
    };
    socket.once("close", () => settle(undefined));
    receiveMessages(socket, (message) => {
      if ((message as MessageToCaller).kind !== "welcome") settle(message as MessageToCaller);
    });
    void sendMessage(socket, { ...hello, argv: [], stdin: none, stdout: none, stderr: none });
  });
}
