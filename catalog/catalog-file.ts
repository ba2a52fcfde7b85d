import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type * as z from "zod";
import { Catalog, MAX_CATALOG_BYTES } from "./catalog.ts";
import { CatalogError } from "./catalog-error.ts";
import { Lockfile } from "./lockfile.ts";
import type { StoredCatalog } from "./stored-catalog.ts";
import { finishCommit } from "./write-generated.ts";

/**
 * Reads what `ptc generate` left in a folder; `undefined` when it left nothing there. A write that was interrupted after
 * it was decided is finished first.
 *
 * @throws CatalogError when a file is there and cannot be used, with one line that says what to do.
 */
export async function readCatalog(dir: string): Promise<StoredCatalog | undefined> {
  await finishCommit(dir);
  const catalog = await readJson(join(dir, "catalog.json"), Catalog);
  const lock = await readJson(join(dir, "ptc.lock.json"), Lockfile);
  if (catalog === undefined && lock === undefined) return undefined;
  if (catalog === undefined || lock === undefined) {
    const missing = join(dir, catalog === undefined ? "catalog.json" : "ptc.lock.json");
    throw new CatalogError("broken", `${missing} is missing: run \`ptc generate\``);
  }
  for (const server of catalog.servers) {
    const locked = lock.servers.get(server.name);
    const stranger = server.tools.find(
      (tool) => locked?.tools.get(tool.name)?.identifier !== tool.identifier,
    );
    if (locked?.module === server.module && stranger === undefined) continue;
    const what =
      stranger === undefined ? `server '${server.name}'` : `tool '${stranger.name}' of '${server.name}'`;
    throw new CatalogError(
      "broken",
      `${dir}: catalog.json and ptc.lock.json disagree on ${what}: run \`ptc generate\``,
    );
  }
  return { catalog, lock };
}

async function readJson<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > MAX_CATALOG_BYTES) {
      const message = `${path} is larger than ${MAX_CATALOG_BYTES} bytes: delete it and run \`ptc generate\``;
      throw new CatalogError("too-large", message);
    }
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof CatalogError) throw cause;
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CatalogError("unreadable", `${path} cannot be read (${code}): check its permissions`, cause);
  }
  const broken = (why: string, cause: unknown): CatalogError =>
    new CatalogError("broken", `${path} ${why}: delete it and run \`ptc generate\``, cause);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw broken("is not JSON", cause);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.join(".") ?? "";
  throw broken(`is not what ptc writes${where === "" ? "" : ` (at '${where.slice(0, 80)}')`}`, parsed.error);
}
