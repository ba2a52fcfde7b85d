/** How one check of others is asked: by a signed POST, or by a command that reads the request and prints its answer. */
import { spawn } from "node:child_process";
import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { InterceptorSettings } from "../../configuration/configuration.ts";
import { addressOf, signedHeaders } from "../../notify/signing.ts";
import type { EnvironmentVariables } from "../../system/environment-variables.ts";
import { outgoingFetch } from "../../system/outgoing.ts";
import type { ConfiguredSecret } from "../../upstream/secret-source.ts";

export interface AskingSurroundings {
  readonly readSecret: (secret: ConfiguredSecret, signal: AbortSignal) => Promise<string>;
  readonly env: EnvironmentVariables;
}

/**
 * Sends a request, and resolves with the text of the answer.
 *
 * @param id of the request, which no other has.
 * @throws Error whose message says what went wrong, without the address, which may be a secret
 */
export async function askCheck(
  check: InterceptorSettings,
  { id, body, maxAnswerBytes }: { id: string; body: string; maxAnswerBytes: number },
  signal: AbortSignal,
  surroundings: AskingSurroundings,
): Promise<string> {
  const { url, secret, command, cwd, off, isManaged } = check;
  if (off !== undefined) throw new Error(off);
  if (command !== undefined)
    return run(command, body, {
      cwd,
      signal,
      maxAnswerBytes,
      env: isManaged === true ? SYSTEM_ENVIRONMENT : surroundings.env,
    });
  if (url === undefined || secret === undefined) throw new Error("it has no address");
  const address = addressOf(await surroundings.readSecret(url, signal));
  const headers = signedHeaders(await surroundings.readSecret(secret, signal), id, body);
  try {
    const options = { method: "POST", headers, body, signal, redirect: "manual" } as const;
    const response = await outgoingFetch(address, options);
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`it answered with HTTP status ${response.status}`);
    }
    return await readText(response.body ?? [], maxAnswerBytes);
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    throw cause === undefined ? error : new Error(`it was not reached (${messageOf(cause)})`);
  }
}

async function readText(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<string> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of parts) {
    bytes += part.length;
    if (bytes > maxBytes) throw new Error(`its answer has more than ${maxBytes} bytes`);
    read.push(part);
  }
  return Buffer.concat(read).toString("utf8");
}

/** The environment of commands of managed settings. Whoever starts ptc sets `PATH`, and with it which program `env python3` starts. */
const SYSTEM_ENVIRONMENT: EnvironmentVariables = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
};

/** Runs a command in a group of its own, which ends with the answer. */
async function run(
  [program, ...args]: readonly [string, ...string[]],
  body: string,
  {
    cwd,
    signal,
    env,
    maxAnswerBytes,
  }: { cwd: string; signal: AbortSignal; env: EnvironmentVariables; maxAnswerBytes: number },
): Promise<string> {
  const { PATH, HOME, LANG } = env;
  signal.throwIfAborted();
  const child = spawn(program, args, {
    cwd,
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
    env: Object.fromEntries(Object.entries({ PATH, HOME, LANG }).filter(([, value]) => value)),
  });
  const kill = () => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  };
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once("error", (error) => reject(new Error(`${oneLine(program)}: ${error.message}`)));
    child.once("exit", (code, by) => resolve(code ?? by ?? "nothing"));
  });
  const aborted = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true }),
  );
  // A command that does not read its input is not at fault.
  child.stdin?.on("error", () => {});
  child.stdin?.end(`${body}\n`);
  try {
    const answered = Promise.all([readText(child.stdout ?? [], maxAnswerBytes), ended]);
    aborted.catch(() => {});
    const [text, code] = await Promise.race([answered, aborted]);
    if (code !== 0)
      throw new Error(
        `${oneLine(program)} ended with ${typeof code === "number" ? `exit code ${code}` : code}`,
      );
    return text;
  } finally {
    kill();
    child.stdout?.destroy();
  }
}
