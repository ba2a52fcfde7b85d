import { createHash } from "node:crypto";
import { inject } from "vitest";

const KEY = Buffer.alloc(32, 7).toString("base64");

/**
 * A ptc.yaml with what the test project says of storage: the same tests then run with files and with PostgreSQL, in which each
 * folder has a schema of its own.
 */
export function withStorage(configuration: string | object, folder: string): string | object {
  const base = inject("storageUrl") ?? "";
  if (base === "") return configuration;
  const schema = `p${createHash("sha256").update(folder).digest("hex").slice(0, 16)}`;
  const storage = { url: base.replace("SCHEMA", schema), encryption_key: KEY };
  if (typeof configuration === "string") return `${configuration}\nstorage: ${JSON.stringify(storage)}\n`;
  return { ...configuration, storage };
}
