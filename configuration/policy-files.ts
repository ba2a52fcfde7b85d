import { closeSync, openSync, readSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { decodeFile } from "../base/file-text.ts";
import { isObject } from "../base/json.ts";
import type { Problem } from "./configuration-error.ts";
import type { Settings } from "./settings/settings.ts";

/** A file of rules. */
export interface PolicyFile {
  /** As `ptc.yaml` names it, for messages. */
  readonly file: string;
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  /** Why it could not be read, in one line for a person. The configuration is then refused. */
  readonly problem?: string | undefined;
}

const MAX_POLICY_BYTES = 4 * 1024 * 1024;

/**
 * Reads the rules that a configuration names, and its groups.
 *
 * @param directory the absolute path to which the files are relative.
 * @param place the place in the configuration that names the files, for messages.
 */
export function readPolicy({ files, groups = {} }: Settings["policy"], directory: string, place: string) {
  return { files: files.map((file) => readPolicyFile(file, directory, place)), groups };
}

/**
 * Reads a file of rules. Never throws: `problem` says what is wrong with the file.
 *
 * @param directory the absolute path to which `file` is relative.
 * @param place the place in the configuration that names the file.
 * @param key the setting that names it.
 */
export function readPolicyFile(file: string, directory: string, place: string, key = "policy"): PolicyFile {
  const path = resolve(directory, file);
  const refuse = (why: string): PolicyFile => ({
    file,
    path,
    text: "",
    problem: `${place}: ${key}: '${file}' ${why}`,
  });
  let bytes: Buffer;
  try {
    // Reading a pipe would block.
    if (!statSync(path).isFile()) return refuse("is no file; name the files with the rules");
    bytes = readAtMost(path, MAX_POLICY_BYTES + 1);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    return refuse(
      isMissing ? "does not exist; check its path" : `cannot be read (${code}); check its permissions`,
    );
  }
  if (bytes.length > MAX_POLICY_BYTES) return refuse(`is larger than ${MAX_POLICY_BYTES} bytes; split it`);
  try {
    return { file, path, text: decodeFile(bytes) };
  } catch {
    return refuse("is not text in UTF-8; save it as UTF-8");
  }
}

/** Reads at most `maxBytes` of a file whose size is not known in advance. */
function readAtMost(path: string, maxBytes: number): Buffer {
  const file = openSync(path, "r");
  try {
    const pieces: Buffer[] = [];
    let length = 0;
    while (length < maxBytes) {
      const piece = Buffer.alloc(Math.min(65_536, maxBytes - length));
      const bytesRead = readSync(file, piece, 0, piece.length, null);
      if (bytesRead === 0) break;
      pieces.push(piece.subarray(0, bytesRead));
      length += bytesRead;
    }
    return Buffer.concat(pieces);
  } finally {
    closeSync(file);
  }
}

/**
 * The named lists of a configuration. A list with a file has the lines of that file, without empty lines and comments (`#`).
 *
 * @param placeOf returns the place in the configuration that names a list, for messages.
 */
export function readLists(
  lists: Readonly<Record<string, readonly string[] | { readonly file: string }>>,
  directory: string,
  placeOf: (name: string) => string,
): { values: Record<string, readonly string[]>; files: PolicyFile[] } {
  const files: PolicyFile[] = [];
  const values = Object.entries(lists).map(([name, given]) => {
    if (!("file" in given)) return [name, given] as const;
    const read = readPolicyFile(given.file, directory, placeOf(name), `lists.${name}`);
    files.push(read);
    const lines = read.text.split(/\r?\n/).map((line) => line.trim());
    return [name, lines.filter((line) => line !== "" && !line.startsWith("#"))] as const;
  });
  return { values: Object.fromEntries(values), files };
}

/** Finds named lists that do not exist. */
export function findListProblems({ servers, tools, extract, labels, lists = {} }: Settings): Problem[] {
  const known = Object.keys(lists);
  const unknown = (name: string, path: readonly PropertyKey[]): Problem[] =>
    known.includes(name)
      ? []
      : [
          {
            path: [...path],
            message: `'${name}' is not among \`lists\`; it has ${known.join(", ") || "none"}`,
          },
        ];
  const unnaming = (name: string, path: readonly PropertyKey[]): Problem[] => {
    const given = Object.hasOwn(lists, name) ? lists[name] : undefined;
    const pattern = Array.isArray(given) ? given.find((entry) => entry.includes("*")) : undefined;
    const message = `'${name}' has the pattern '${pattern}', which names nobody; list who is meant, such as 'Carol Jones <carol@example.com>'`;
    return pattern === undefined ? [] : [{ path: [...path], message }];
  };
  const ofFlow = (accepts: unknown, path: readonly PropertyKey[]): Problem[] =>
    isObject(accepts)
      ? Object.entries(accepts).flatMap(([argument, taken]) =>
          isObject(taken)
            ? (["lists", "named"] as const).flatMap((key) =>
                (Array.isArray(taken[key]) ? taken[key] : []).flatMap((name: string, index) => [
                  ...unknown(name, [...path, argument, key, index]),
                  ...(key === "named" ? unnaming(name, [...path, argument, key, index]) : []),
                ]),
              )
            : [],
        )
      : [];
  return [
    ...labels.plain.flatMap((name, index) => unknown(name, ["labels", "plain", index])),
    ...servers.flatMap((server, index) => [
      ...ofFlow(server.accepts, ["servers", index, "accepts"]),
      ...Object.entries(server.tools ?? {}).flatMap(([tool, { accepts }]) =>
        ofFlow(accepts, ["servers", index, "tools", tool, "accepts"]),
      ),
    ]),
    ...tools.local.flatMap(({ accepts }, index) => ofFlow(accepts, ["tools", "local", index, "accepts"])),
    ...ofFlow(extract?.accepts, ["extract", "accepts"]),
  ];
}
