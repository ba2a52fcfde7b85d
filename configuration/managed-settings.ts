import { execFileSync } from "node:child_process";
import { closeSync, fstatSync, lstatSync, openSync, readlinkSync, readSync, type Stats } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import * as z from "zod";
import { decodeFile } from "../base/file-text.ts";
import { oneLine } from "../base/visible-text.ts";
import { similarNames } from "../catalog/search/similar-names.ts";
import { ConfigurationError } from "./configuration-error.ts";
import { findInterceptorProblems } from "./interceptor-problems.ts";
import type { PolicyFile } from "./policy-files.ts";
import { list, mapping, oneOf, orEmpty, section, settingsIn, text } from "./settings/declare.ts";
import { managedInterceptors } from "./settings/interceptor-settings.ts";
import { managedFlow } from "./settings/server-settings.ts";
import {
  APPROVAL_DEFAULTS,
  APPROVAL_REQUIREMENTS,
  auditAddresses,
  keptDays,
  policySection,
  Reviewer,
} from "./settings/settings.ts";
import { toolPatterns } from "./settings/tool-patterns.ts";
import { MAX_CONFIGURATION_BYTES, renderPath, YamlSource } from "./yaml-source.ts";

/**
 * Managed settings: the settings of a machine's administrator for every ptc on it, in a file that users cannot write. A project can be
 * stricter but never looser (`merge-managed.ts`). If a file exists but cannot be trusted, ptc does not run, because ignoring the file
 * would disable it.
 */

/** A place of managed settings. */
export interface ManagedPlace {
  path: string;
  /** Device management (MDM) on macOS writes a property list. */
  format: "yaml" | "plist";
  /** The required owner of the file, and of every folder and link on the way to it. */
  owner: number;
  /** The outermost folder that is checked. */
  top: string;
}

const ROOT = { owner: 0, top: "/" } as const;

/**
 * The places of this system. They are constants, because users could set a variable that names another place. Tests pass others as an
 * argument.
 */
export const MANAGED_PLACES: readonly ManagedPlace[] =
  process.platform === "darwin"
    ? [
        { path: "/Library/Managed Preferences/ptc.plist", format: "plist", ...ROOT },
        { path: "/Library/Application Support/ptc/managed.yaml", format: "yaml", ...ROOT },
      ]
    : process.platform === "win32"
      ? [{ path: "C:\\Program Files\\ptc\\managed.yaml", format: "yaml", ...ROOT }]
      : [{ path: "/etc/ptc/managed.yaml", format: "yaml", ...ROOT }];

const WRITABLE_BY_OTHERS = 0o022;
const MAX_LINKS = 8;

/** Selects servers by a name, a command or a URL, or by a name beside one of these. Everything that is given must match. */
const Match = mapping(() => ({
  /** A pattern of names in ptc.yaml. The author of that file chooses the names. */
  name: text(512).optional(),
  /** The command with all arguments, each a pattern. */
  command: list(text(4_096)).min(1, { error: "must name a command" }).optional(),
  /** A pattern of URLs; `*` in the host does not match beyond it. */
  url: text(8_192)
    .regex(/^(?:\*|https?):\/\/[^/?#@\s]+(?:\/[^?#\s]*)?$/i, {
      error: "must be like https://mcp.example.com/*, without a user, a query or a fragment",
    })
    .optional(),
})).refine(
  ({ name, command, url }) =>
    (command === undefined) !== (url === undefined) || (name !== undefined && command === undefined),
  { error: "must have a name, or either a command or a url, which a name may stand beside" },
);
export type ServerMatch = z.infer<typeof Match>;

const ManagedLabels = mapping(() => ({ server: Match, ...managedFlow() }));
export type ManagedLabels = z.infer<typeof ManagedLabels>;

/** The file of managed settings. The project's own value holds for each key that it does not mention. */
const ManagedFile = section(() => ({
  tools: section(() => ({ allow: toolPatterns().optional(), block: orEmpty(toolPatterns()) })),
  approvals: section(() => ({
    default: oneOf(APPROVAL_DEFAULTS).optional(),
    ask: orEmpty(toolPatterns()),
    allow: toolPatterns().optional(),
    require: oneOf(APPROVAL_REQUIREMENTS).optional(),
    reviewer: Reviewer.optional(),
  })),
  interceptors: managedInterceptors(),
  policy: policySection(),
  labels: orEmpty(list(ManagedLabels)),
  servers: section(() => ({ allow: list(Match).optional(), block: orEmpty(list(Match)) })),
  sandbox: section(() => ({
    engine: text(4_096)
      .regex(/^(?:docker|runsc|unix:\/\/\/[^/].*)$/, {
        error: "must be docker, runsc or the address of Docker's socket, such as unix:///var/run/docker.sock",
      })
      .optional(),
    runtime: text(128).optional(),
    runsc: text(4_096)
      .regex(/^\//, { error: "must be an absolute path, such as /usr/local/bin/runsc" })
      .optional(),
    image: text(512).optional(),
    servers: oneOf(["required", "wanted"]).optional(),
    allow_weaker_isolation: z
      .literal(false, { error: "must be false: what is managed only restricts" })
      .optional(),
  })),
  archive: section(() => ({ keep_days: keptDays().optional() })),
  audit: section(() => ({
    strict: z.literal(true, { error: "must be true: what is managed only restricts" }).optional(),
    keep_days: keptDays().optional(),
    ...auditAddresses(),
  })),
}));

/** The managed settings, with the rules that they name. */
export interface ManagedSettings extends Omit<z.infer<typeof ManagedFile>, "policy"> {
  /** The name of the file in messages. */
  readonly file: string;
  readonly policy: {
    readonly files: readonly PolicyFile[];
    readonly groups: Readonly<Record<string, readonly string[]>>;
  };
}

/**
 * Reads all files of managed settings of this machine; empty if there are none.
 *
 * @throws ConfigurationError in one line for an existing file that cannot be read or trusted.
 */
export function readManagedSettings(places: readonly ManagedPlace[] = MANAGED_PLACES): ManagedSettings[] {
  return places.flatMap((place) => {
    const bytes = readTrusted(place.path, place, MAX_CONFIGURATION_BYTES);
    return bytes === undefined ? [] : [parseManaged(bytes, place)];
  });
}

/** @throws ConfigurationError naming the first line that is wrong. */
function parseManaged(bytes: Buffer, place: ManagedPlace): ManagedSettings {
  const { path: file } = place;
  const source = YamlSource.parse(place.format === "plist" ? jsonOfPlist(bytes, file) : utf8(bytes, file));
  if (!(source instanceof YamlSource)) throw invalid(`${file}:${source.line}: ${source.message}`);
  const parsed = ManagedFile.safeParse(source.value ?? {});
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const path = [...(issue?.path ?? [])];
    const [unknown] = issue?.code === "unrecognized_keys" ? issue.keys : [];
    if (unknown !== undefined) path.push(unknown);
    const message = unknown === undefined ? issue?.message : `is not a known key${didYouMean(unknown)}`;
    throw invalid(`${file}:${source.lineOf(path)}: ${path.map(String).join(".") || "the file"}: ${message}`);
  }
  const { approvals, interceptors } = parsed.data;
  const [problem] = findInterceptorProblems(interceptors, approvals);
  if (problem !== undefined)
    throw invalid(`${file}:${source.lineOf(problem.path)}: ${renderPath(problem.path)}: ${problem.message}`);
  for (const [index, { command = [] }] of interceptors.entries())
    refuseUntrusted(command, place, `${file}:${source.lineOf(["interceptors", index, "command"])}`);
  const { files, groups = {} } = parsed.data.policy;
  return { ...parsed.data, file, policy: { files: files.map((rules) => readRules(rules, place)), groups } };
}

function didYouMean(key: string): string {
  const known = settingsIn(ManagedFile).map(({ path }) => path.slice(path.lastIndexOf(".") + 1));
  const [nearest] = similarNames(key, [...new Set(known)], 1);
  return nearest === undefined ? '; see docs/policy.md, "Managed settings"' : `; did you mean '${nearest}'?`;
}

function readRules(file: string, place: ManagedPlace): PolicyFile {
  const named = `${place.path}: policy: '${file}'`;
  if (!isAbsolute(file)) throw invalid(`${named} must be an absolute path`);
  const bytes = readTrusted(file, place, 4 * 1024 * 1024);
  if (bytes === undefined) throw invalid(`${named} does not exist; check its path`);
  return { file, path: file, text: utf8(bytes, file) };
}

/** Refuses a command of which others than the owner can write the program, or a file that it names by an absolute path. */
function refuseUntrusted(command: readonly string[], { owner, top }: ManagedPlace, where: string): void {
  for (const [index, word] of command.entries()) {
    if (!isAbsolute(word)) continue;
    const isThere = lstatSync(word, { throwIfNoEntry: false }) !== undefined;
    const why = isThere ? whyUntrusted(word, owner, top) : index === 0 ? "does not exist" : undefined;
    if (why !== undefined) throw invalid(`${where}: command: '${word}' ${why}`);
  }
}

/**
 * Reads a file that only its owner can write or replace; `undefined` if there is none.
 *
 * @throws ConfigurationError for any other.
 */
function readTrusted(path: string, { owner, top }: ManagedPlace, maxBytes: number): Buffer | undefined {
  const advice = "; ptc runs nothing until the administrator of this machine corrects that";
  let descriptor: number | undefined;
  let isThere = false;
  try {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
    isThere = true;
    const why = whyUntrusted(path, owner, top);
    if (why !== undefined) throw invalid(`${path}: ${why}${advice}`);
    descriptor = openSync(path, "r");
    const status = fstatSync(descriptor);
    const wrong = status.isFile() ? whyWritable(status, owner) : "is no file";
    if (wrong !== undefined) throw invalid(`${path}: ${wrong}${advice}`);
    if (status.size > maxBytes) throw invalid(`${path}: is larger than ${maxBytes} bytes${advice}`);
    const bytes = Buffer.alloc(maxBytes + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(descriptor, bytes, length, bytes.length - length, null);
    return bytes.subarray(0, length);
  } catch (error) {
    if (error instanceof ConfigurationError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (isThere && code === "ENOENT") throw invalid(`${path}: leads to nothing${advice}`);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw invalid(`${path}: cannot be read (${code ?? "unknown"})${advice}`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Why somebody other than the owner could change the target of a path. Checks each folder and each link on the way. */
function whyUntrusted(path: string, owner: number, top: string, links = 0): string | undefined {
  if (process.getuid === undefined) return undefined;
  if (links > MAX_LINKS) return "leads through too many links";
  const steps: string[] = [];
  for (let step = resolve(path); ; step = dirname(step)) {
    steps.unshift(step);
    if (step === top || step === dirname(step)) break;
  }
  for (const step of steps) {
    const status = lstatSync(step);
    const wrong = whyWritable(status, owner);
    if (wrong !== undefined) return step === path ? wrong : `'${step}', on the way to it, ${wrong}`;
    if (!status.isSymbolicLink()) continue;
    const target = resolve(dirname(step), readlinkSync(step));
    return whyUntrusted(target + resolve(path).slice(step.length), owner, top, links + 1);
  }
  return undefined;
}

function whyWritable(status: Stats, owner: number): string | undefined {
  if (process.getuid === undefined) return undefined;
  if (status.uid !== owner) return owner === 0 ? "is not owned by root" : `is not owned by user ${owner}`;
  // The mode of a link means nothing.
  if (status.isSymbolicLink() || (status.mode & WRITABLE_BY_OTHERS) === 0) return undefined;
  return "can be written by others than its owner";
}

/** A property list as JSON, which is YAML too. */
function jsonOfPlist(bytes: Buffer, file: string): string {
  try {
    const options = {
      input: bytes,
      encoding: "utf8",
      timeout: 10_000,
      maxBuffer: MAX_CONFIGURATION_BYTES,
    } as const;
    return execFileSync("/usr/bin/plutil", ["-convert", "json", "-o", "-", "-"], options);
  } catch (cause) {
    const error = invalid(
      `${file}: cannot be read as a property list (plutil); ptc runs nothing until it can`,
    );
    error.cause = cause;
    throw error;
  }
}

function utf8(bytes: Buffer, file: string): string {
  try {
    return decodeFile(bytes);
  } catch {
    throw invalid(`${file}: is not text in UTF-8; save it as UTF-8`);
  }
}

function invalid(message: string): ConfigurationError {
  return new ConfigurationError("invalid", oneLine(message));
}
