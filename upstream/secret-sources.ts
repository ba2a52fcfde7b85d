import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { basename } from "node:path";
import { messageOf } from "../base/faults.ts";
import { isObject, parseForeignJson } from "../base/json.ts";
import { oneLine } from "../base/visible-text.ts";
import { orAborted } from "../base/waiting.ts";
import { MASKED } from "../secrets/text-redaction.ts";
import { UserSecrets } from "../secrets/user-secrets.ts";
import type { EnvironmentVariables } from "../system/environment-variables.ts";
import { AuthorizationError } from "./authorization/authorization.ts";
import type { CredentialSource } from "./authorization/credentials.ts";
import { runCommand } from "./run-command.ts";
import {
  ALL_HEADERS,
  type ConfiguredSecret,
  MAX_SECRET_BYTES,
  parseSecret,
  type SecretKeyring,
  type SecretSource,
  SecretSourceError,
  tooLarge,
  valueKey,
} from "./secret-source.ts";
import { UpstreamError } from "./upstream-error.ts";

export interface SecretSourcesOptions extends Omit<SecretCommandOptions, "signal"> {
  /** All variables that commands see. */
  env: Readonly<Record<string, string | undefined>>;
  keyring: SecretKeyring;
}

/** A running command, and how many callers wait for it. */
interface RunningCommand {
  secret: Promise<string>;
  waiting: number;
  abort: AbortController;
}

/**
 * Reads secrets from their configured sources. Files and the keyring are read again each time. The output of a command is kept for
 * the life of the process; a failed command is run again when it is next needed. Concurrent callers share one run.
 */
export class SecretSources {
  readonly #options: SecretSourcesOptions;
  readonly #printed = new Map<string, string>();
  readonly #running = new Map<string, RunningCommand>();

  constructor(options: SecretSourcesOptions) {
    this.#options = options;
  }

  /** @throws SecretSourceError phrased to follow the place of the value; the signal's reason if it aborts. */
  async read(source: SecretSource, signal: AbortSignal): Promise<string> {
    switch (source.from) {
      case "file":
        return readSecretFile(source.path);
      case "command":
        return this.#run(source, signal);
      case "keyring":
        return this.#readKeyring(source.name);
    }
  }

  async #readKeyring(name: string): Promise<string> {
    let secret: string | undefined;
    try {
      secret = await this.#options.keyring.get(name);
    } catch (error) {
      throw new SecretSourceError(messageOf(error));
    }
    if (secret !== undefined) return secret;
    throw new SecretSourceError(`the keyring has no '${name}'; put it in with \`ptc auth set ${name}\``);
  }

  async #run(
    { argv, cwd, isFresh = false }: Extract<SecretSource, { from: "command" }>,
    signal: AbortSignal,
  ): Promise<string> {
    const key = JSON.stringify([argv, cwd]);
    const known = isFresh ? undefined : this.#printed.get(key);
    if (known !== undefined) return known;
    const running = this.#running.get(key) ?? this.#start(key, argv, cwd);
    running.waiting++;
    try {
      return await orAborted(running.secret, signal, () => new SecretSourceError("it is no longer needed"));
    } finally {
      running.waiting--;
      if (running.waiting === 0) running.abort.abort();
    }
  }

  #start(key: string, argv: readonly [string, ...string[]], cwd: string): RunningCommand {
    const abort = new AbortController();
    const env = Object.fromEntries(
      Object.entries(this.#options.env).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    );
    const secret = runSecretCommand({ argv, cwd, env }, { ...this.#options, signal: abort.signal });
    const running = { secret, waiting: 0, abort };
    this.#running.set(key, running);
    const forget = () => {
      if (this.#running.get(key) === running) this.#running.delete(key);
    };
    abort.signal.addEventListener("abort", forget, { once: true });
    secret.then((printed) => this.#printed.set(key, printed), forget);
    return running;
  }
}

/** Long enough for a person to unlock a vault or to touch a key. */
const PATIENCE_MS = 60_000;
/** How long to read on after a command has ended. */
const REST_MS = 1_000;
const MAX_REASON_CHARS = 200;
/** Shorter lines of a secret are not masked in messages, because they occur in ordinary words. */
const MIN_MASKED_CHARS = 4;

interface SecretCommand {
  argv: readonly [string, ...string[]];
  cwd: string;
  /** All variables that the command sees. */
  env: Readonly<Record<string, string>>;
}

interface SecretCommandOptions {
  /** Removes known secrets from a text. */
  redact: (text: string) => string;
  onSpawn: (pid: number) => void;
  onExit: (pid: number) => void;
  /** Ends the command. */
  signal: AbortSignal;
  patienceMs?: number;
}

/**
 * Runs a command, without a shell and in a separate process group, and resolves with its stdout without a trailing line feed. It has
 * no stdin, and is killed if it takes too long or prints too much.
 *
 * @throws SecretSourceError with the command's name and its exit code or the first line of its stderr.
 */
export async function runSecretCommand(
  { argv: [program, ...args], cwd, env }: SecretCommand,
  { redact, onSpawn, onExit, signal, patienceMs = PATIENCE_MS }: SecretCommandOptions,
): Promise<string> {
  const name = `\`${oneLine(basename(program), 80)}\``;
  const end = await runCommand(
    { program, args, cwd, env, stdin: "" },
    { timeoutMs: patienceMs, restMs: REST_MS, maxBytes: MAX_SECRET_BYTES, signal, stderr: "beginning" },
    { onSpawn, onExit },
  );
  switch (end.kind) {
    case "not_started": {
      const { code } = end.error;
      const why = code === "ENOENT" ? "there is no such command on the PATH" : `it cannot be run (${code})`;
      throw new SecretSourceError(`${name} was not run: ${why}`);
    }
    case "late":
      throw new SecretSourceError(`${name} did not answer within ${patienceMs / 1_000} s`);
    case "aborted":
      throw new SecretSourceError(`${name} is no longer needed`);
    case "too_much":
      throw tooLarge(`${name} printed`);
    case "exited": {
      if (end.code === 0) return parseSecret(end.stdout, `${name} printed`);
      const reason = redact(withoutPrinted(firstLine(end.stderr), end.stdout));
      const how = end.code === null ? `was ended by ${end.signal}` : `exited with ${end.code}`;
      throw new SecretSourceError(
        `${name} ${how}${reason === "" ? "" : `: ${oneLine(reason, MAX_REASON_CHARS)}`}`,
      );
    }
  }
}

function firstLine(stderr: string): string {
  const lines = stderr.split(/\r?\n/).map((line) => line.trim());
  return lines.find((line) => line !== "") ?? "";
}

/** Removes a failed command's output from a text, because it may still be the secret. */
function withoutPrinted(text: string, printed: Buffer): string {
  return printed
    .toString("utf8")
    .split(/\s+/)
    .filter(({ length }) => length >= MIN_MASKED_CHARS)
    .sort((a, b) => b.length - a.length)
    .reduce((masked, part) => masked.replaceAll(part, MASKED), text);
}

const OTHERS_MAY_READ = 0o044;

/** Reads a secret from a regular file, without a trailing line feed. @throws SecretSourceError */
export async function readSecretFile(path: string): Promise<string> {
  const bytes = await withFile(path, async (handle) => {
    const buffer = Buffer.alloc(MAX_SECRET_BYTES + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  });
  return parseSecret(bytes, `the file ${path} holds`);
}

/** Who else may read the file, phrased to follow its path; `undefined` if nobody else may, or it cannot be read. */
export async function whyFileIsOpen(path: string): Promise<string | undefined> {
  try {
    const mode = await withFile(path, async (handle) => (await handle.stat()).mode & 0o777);
    if ((mode & OTHERS_MAY_READ) === 0) return undefined;
    return `may be read by others (mode ${mode.toString(8).padStart(4, "0")}); run \`chmod 600\` on it`;
  } catch {
    return undefined;
  }
}

async function withFile<T>(path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  let handle: FileHandle | undefined;
  try {
    // Without O_NONBLOCK, a pipe without a writer would keep the server waiting forever.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!(await handle.stat()).isFile()) throw new SecretSourceError(`${path} is not a regular file`);
    return await use(handle);
  } catch (error) {
    if (error instanceof SecretSourceError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" || code === "ENOTDIR" ? "does not exist" : `cannot be read (${code})`;
    throw new SecretSourceError(`the file ${path} ${why}`);
  } finally {
    await handle?.close();
  }
}

/** The values of a server's `env` or `headers` that are read when it starts. */
export interface SourcedValues {
  readonly sources: Readonly<Record<string, SecretSource>>;
  /** Whether they are HTTP headers, which allow fewer characters. */
  readonly areHeaders: boolean;
  /** Whether the server is used without values that cannot be read. By default it is then not started. */
  readonly areApart?: boolean;
}

/**
 * Adds the values of `ptc.yaml` that are read when a server starts to the credentials of another source.
 *
 * @param byServer by configured name.
 */
export function sourcedCredentials(
  others: CredentialSource,
  byServer: ReadonlyMap<string, SourcedValues>,
  sources: Pick<SecretSources, "read">,
): CredentialSource {
  const credentialsFor: CredentialSource["credentialsFor"] = async (principal, server, signal) => {
    const rest = await others.credentialsFor(principal, server, signal);
    const own = byServer.get(server);
    if (own === undefined) return rest;
    const why: Record<string, string> = {};
    const read = await Promise.all(
      Object.entries(own.sources).map(async ([key, source]) => {
        const secret = await readValue(
          key === ALL_HEADERS && source.from === "command" ? { ...source, isFresh: true } : source,
          own.areHeaders && !key.startsWith("certificate/"),
          sources,
          signal,
        );
        const found =
          typeof secret === "string" && key === ALL_HEADERS && own.areHeaders ? headersIn(secret) : secret;
        if (typeof found === "string") return [{ key, secret: found, value: source.prefix + found }];
        if (Array.isArray(found))
          return found
            .filter(([name]) => source.except?.includes(valueKey(name, true)) !== true)
            .map(([name, value]) => ({ key: name, secret: value, value }));
        const problem = `${source.place}: ${found.message}`;
        if (own.areApart !== true || signal.aborted)
          throw new UpstreamError("start_failed", `server '${server}' is not started: ${problem}`, {
            cause: found,
          });
        why[key] = problem;
        return [];
      }),
    );
    const values = read.flat();
    const again = (later: AbortSignal) => credentialsFor(principal, server, later);
    return {
      values: replacedBy(rest.values, values, own.areHeaders),
      secrets: [...new Set([...rest.secrets, ...values.flatMap(({ secret, value }) => [secret, value])])],
      ...(Object.keys(why).length === 0 ? {} : { unread: { why, again } }),
    };
  };
  return { credentialsFor };
}

/** Values of which later ones take the place of earlier ones. Otherwise HTTP would send two headers of one name together. */
function replacedBy(
  values: Readonly<Record<string, string>>,
  later: readonly { key: string; value: string }[],
  areHeaders: boolean,
): Record<string, string> {
  const all = [...Object.entries(values), ...later.map(({ key, value }) => [key, value] as const)];
  const byKey = new Map(all.map((entry) => [valueKey(entry[0], areHeaders), entry]));
  return Object.fromEntries(byKey.values());
}

const HEADERS_LIMITS = { maxBytes: MAX_SECRET_BYTES, maxDepth: 2 };
const HEADER_NAME = /^[A-Za-z0-9!#$%&'+.^_`|~-]+$/;

/** The headers in a JSON object of names and texts. */
function headersIn(text: string): [name: string, value: string][] | SecretSourceError {
  let headers: unknown;
  try {
    headers = parseForeignJson(text, HEADERS_LIMITS);
  } catch {
    headers = undefined;
  }
  const entries = isObject(headers) ? Object.entries(headers) : [];
  const isSound = entries.every(
    (entry): entry is [string, string] =>
      HEADER_NAME.test(entry[0]) && typeof entry[1] === "string" && HEADER_VALUE.test(entry[1]),
  );
  if (isObject(headers) && isSound) return entries as [string, string][];
  return new SecretSourceError("what was read is no JSON object of headers and their values");
}

const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

async function readValue(
  source: SecretSource,
  isHeader: boolean,
  sources: Pick<SecretSources, "read">,
  signal: AbortSignal,
): Promise<string | SecretSourceError> {
  try {
    const secret = await sources.read(source, signal);
    if (!isHeader || HEADER_VALUE.test(secret)) return secret;
    return new SecretSourceError("what was read holds a character that no HTTP header may");
  } catch (error) {
    if (error instanceof SecretSourceError) return error;
    throw error;
  }
}

/** Reads the secrets of logins, and reports each before it is used. */
export interface LoginSecrets {
  readonly sources: Pick<SecretSources, "read">;
  onSecret(secret: string): void;
}

/**
 * Reads a secret of a server's `auth`, which is needed to request a token.
 *
 * @throws AuthorizationError that names the place in the configuration; the signal's reason if it aborts.
 */
export async function readAuthSecret(
  secret: ConfiguredSecret | undefined,
  secrets: LoginSecrets,
  signal = new AbortController().signal,
): Promise<string | undefined> {
  if (secret === undefined || typeof secret === "string") return secret;
  try {
    const text = await secrets.sources.read(secret, signal);
    const value = secret.prefix + text;
    for (const each of new Set([text, value])) secrets.onSecret(each);
    return value;
  } catch (error) {
    if (!(error instanceof SecretSourceError)) throw error;
    throw new AuthorizationError(`gets no token: ${secret.place}: ${error.message}`);
  }
}

/** Reads secrets for a single login, whose messages only the person who logs in reads. */
export function ownLoginSecrets(env: EnvironmentVariables): LoginSecrets {
  const sources = new SecretSources({
    env,
    keyring: new UserSecrets(env),
    redact: (text) => text,
    onSpawn() {},
    onExit() {},
  });
  return { sources, onSecret() {} };
}
