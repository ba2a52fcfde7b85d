import { createHash } from "node:crypto";
import { inject } from "vitest";

const KEY = Buffer.alloc(32, 7).toString("base64");

/** The settings of storage for a folder, of which each has a schema of its own; `undefined` where the test project keeps files. */
export function storageOf(folder: string): { url: string; encryption_key: string } | undefined {
  const base = inject("storageUrl") ?? "";
  if (base === "") return undefined;
  const schema = `p${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`;
  return { url: base.replace("SCHEMA", schema), encryption_key: KEY };
}

/**
 * A ptc.yaml with what the test project says of storage: the same tests then run with files and with PostgreSQL.
 */
export function withStorage(configuration: string | object, folder: string): string | object {
  const storage = storageOf(folder);
  if (storage === undefined) return configuration;
  if (typeof configuration === "string") return `${configuration}\nstorage: ${JSON.stringify(storage)}\n`;
  return { ...configuration, storage };
}
