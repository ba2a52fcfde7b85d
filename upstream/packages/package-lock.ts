/** `ptc.packages.json`: every package that a server in a sandbox is started from, by exact version and integrity. */

import { randomBytes } from "node:crypto";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { parseForeignJson } from "../../base/json.ts";
import { PackageError } from "./package-error.ts";

/** The file beside ptc.yaml. It is committed, as other locks of packages are. */
export const PACKAGE_LOCK = "ptc.packages.json";

const LIMITS = { maxBytes: 32 * 1024 * 1024, maxDepth: 12 };
const Text = z.string().check(z.maxLength(1_024));

/** A package of npm's `package-lock.json` (version 3), of which ptc keeps everything. */
const NpmPackage = z.looseObject({
  version: z.optional(Text),
  integrity: z.optional(z.string().check(z.regex(/^sha(?:256|384|512)-[A-Za-z0-9+/]+={0,2}$/))),
  resolved: z.optional(z.string()),
  link: z.optional(z.boolean()),
  inBundle: z.optional(z.boolean()),
});

const LockedPackages = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("npm"),
    /** What was asked for, as the command names it. */
    packages: z.array(Text),
    /** `packages` of `package-lock.json`: by place, the empty one being the root. */
    tree: z.record(z.string(), NpmPackage),
  }),
  z.strictObject({
    kind: z.literal("python"),
    packages: z.array(Text),
    /** All packages, with the digests of the wheels that may be installed. */
    tree: z.array(
      z.strictObject({
        name: z.string().check(z.regex(/^[A-Za-z0-9][\w.-]*$/)),
        version: z.string().check(z.regex(/^[\w.+!-]+$/)),
        sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
      }),
    ),
  }),
]);
export type LockedPackages = z.infer<typeof LockedPackages>;
export type NpmTree = Extract<LockedPackages, { kind: "npm" }>["tree"];
export type PythonTree = Extract<LockedPackages, { kind: "python" }>["tree"];

const PackageLock = z.strictObject({
  version: z.literal(1),
  /** By the server's name in ptc.yaml. */
  servers: z.record(z.string(), LockedPackages),
});
type PackageLock = z.infer<typeof PackageLock>;

/**
 * Reads the lock of a folder. Without one it has no servers.
 *
 * @throws PackageError for a file that cannot be read, and for packages without a digest.
 */
export function readPackageLock(directory: string): Map<string, LockedPackages> {
  const path = join(directory, PACKAGE_LOCK);
  let text: Buffer;
  try {
    text = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Map();
    throw new PackageError(`${PACKAGE_LOCK} cannot be read: ${messageOf(error)}`);
  }
  let lock: PackageLock;
  try {
    lock = PackageLock.parse(parseForeignJson(text, LIMITS));
  } catch {
    throw new PackageError(
      `${PACKAGE_LOCK} is none that ptc wrote; take it from version control, or delete it and run \`ptc generate\``,
    );
  }
  return new Map(Object.entries(lock.servers));
}

/** Writes the lock of a folder whole, in the order of names. @throws PackageError; the file is as before then. */
export function writePackageLock(directory: string, servers: ReadonlyMap<string, LockedPackages>): void {
  const sorted = [...servers].sort(([a], [b]) => (a < b ? -1 : 1));
  const lock: PackageLock = { version: 1, servers: Object.fromEntries(sorted) };
  const path = join(directory, PACKAGE_LOCK);
  const text = `${JSON.stringify(lock, null, 2)}\n`;
  try {
    if (readFileSync(path, "utf8") === text) return;
  } catch {
    // There is none yet, or it is replaced.
  }
  const beside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    writeFileSync(beside, text, { flag: "wx" });
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw new PackageError(`${PACKAGE_LOCK} cannot be written: ${messageOf(error)}`);
  }
}
