import { type FileHandle, open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { decodeFile } from "../base/file-text.ts";
import { isObject } from "../base/json.ts";
import type { Configuration } from "./configuration.ts";
import { ConfigurationError } from "./configuration-error.ts";
import {
  configurationPaths,
  type FindOptions,
  namedConfiguration,
  shownFrom,
} from "./configuration-paths.ts";
import { refuseForeignCode } from "./managed-node.ts";
import { readManagedSettings } from "./managed-settings.ts";
import { mergeManaged } from "./merge-managed.ts";
import { parseConfiguration } from "./parse.ts";
import { MAX_CONFIGURATION_BYTES, YamlSource } from "./yaml-source.ts";

export interface FoundConfiguration {
  /** The path as the user wrote it, for messages. */
  file: string;
  /** Absolute. */
  path: string;
  text: string;
}

/**
 * Finds and reads the configuration. It is the first of these: `--config`, `PTC_CONFIG`, `PTC_MCP_CONFIG`, and `ptc.yaml` or
 * `config.yaml` in the working directory, and the nearest `ptc.yaml` above it (`configurationPaths`). `undefined` when no file is named
 * and none of these exists.
 *
 * @throws ConfigurationError when a named file is missing, or an existing file cannot be read.
 */
export async function findConfiguration({
  flag,
  givenBy,
  env,
  cwd,
}: FindOptions): Promise<FoundConfiguration | undefined> {
  const named = namedConfiguration({ flag, givenBy, env });
  if (named?.file !== undefined) {
    const found = await readConfiguration(named.file, cwd);
    if (found !== undefined) return found;
    throw new ConfigurationError(
      "not_found",
      `${named.file || "(empty)"}:1: the file named by ${named.by} does not exist; check its path`,
    );
  }
  for (const path of configurationPaths({ flag, env, cwd })) {
    const found = await readConfiguration(shownFrom(path, cwd), cwd, path);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Finds, reads and checks the configuration. Without a file it has no servers, and `directory` is the working directory.
 *
 * @throws ConfigurationError
 */
export async function loadConfiguration(options: FindOptions): Promise<Configuration> {
  return configurationOf(await findConfiguration(options), options);
}

/** The configuration in a found file, restricted by the managed settings of this machine. @throws ConfigurationError */
export function configurationOf(
  found: FoundConfiguration | undefined,
  { env, cwd, managedPlaces }: FindOptions,
): Configuration {
  const settings = readManagedSettings(managedPlaces);
  for (const { file } of settings) refuseForeignCode(env, file);
  const text = found?.text ?? "";
  const own = parseConfiguration(text, {
    file: found?.file,
    directory: found === undefined ? cwd : dirname(found.path),
    environment: env,
  });
  if (settings.length === 0) return own;
  const source = YamlSource.parse(text);
  const said = source instanceof YamlSource ? source.value : undefined;
  const isGiven = (key: string) =>
    key.split(".").reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), said) !==
    undefined;
  return settings.reduce((configuration, each) => mergeManaged(configuration, each, isGiven), own);
}

async function readConfiguration(
  file: string,
  cwd: string,
  path = resolve(cwd, file),
): Promise<FoundConfiguration | undefined> {
  if (file === "") return undefined;
  let bytes: Buffer;
  try {
    const handle = await open(path);
    try {
      bytes = await readAtMost(handle, MAX_CONFIGURATION_BYTES + 1);
    } finally {
      await handle.close();
    }
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    const reason =
      code === "EISDIR"
        ? "is a folder; name the file in it"
        : `cannot be read (${code}); check its permissions`;
    throw new ConfigurationError("unreadable", `${file}:1: ${reason}`, { cause });
  }
  if (bytes.length > MAX_CONFIGURATION_BYTES) {
    throw new ConfigurationError(
      "invalid",
      `${file}:1: larger than ${MAX_CONFIGURATION_BYTES} bytes; is this the right file?`,
    );
  }
  try {
    return { file, path, text: decodeFile(bytes) };
  } catch (cause) {
    throw new ConfigurationError("invalid", `${file}:1: is not text in UTF-8; save it as UTF-8`, { cause });
  }
}

/** Reads at most `maxBytes` of a file whose size is not known in advance, such as a pipe or a device. */
async function readAtMost(handle: FileHandle, maxBytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(maxBytes);
  let length = 0;
  while (length < maxBytes) {
    const { bytesRead } = await handle.read(buffer, length, maxBytes - length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
