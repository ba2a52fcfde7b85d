import { byCodeUnit } from "../../base/by-code-unit.ts";
import { countValues } from "../../base/json/count-values.ts";
import { jsonSize } from "../../catalog/parse-tool.ts";
import { type CatalogServer, type CatalogTool, MAX_CATALOG_VALUES } from "../../catalog/store/catalog.ts";
import { MAX_OWN_FILE_BYTES } from "../../catalog/store/own-file.ts";

interface SizeLimits {
  bytes: number;
  values: number;
}

/** Half of the limits for reading the files, because names, identifiers and digests are stored beside the definitions. */
const LIMITS: SizeLimits = { bytes: MAX_OWN_FILE_BYTES / 2, values: MAX_CATALOG_VALUES / 2 };

/**
 * Chooses the tools to leave out, the largest first, so that the stored definitions of all servers can be read again.
 *
 * @returns protocol names by the server's configured name; empty when everything fits.
 */
export function toolsBeyondLimits(
  servers: readonly CatalogServer[],
  limits: SizeLimits = LIMITS,
): Map<string, Set<string>> {
  const leftOut = new Map<string, Set<string>>();
  const chars = servers.reduce((sum, { tools }) => sum + jsonSize(tools), 0);
  // Bounds: a character takes at most six bytes, as an escape, and a value takes at least two characters.
  if (chars <= Math.min(limits.bytes / 6, limits.values)) return leftOut;
  const measured = servers
    .flatMap((server) => server.tools.map((tool) => ({ server: server.name, tool, size: measure(tool) })))
    .sort((a, b) => b.size.bytes - a.size.bytes || byCodeUnit(a.tool.name, b.tool.name));
  let bytes = measured.reduce((sum, { size }) => sum + size.bytes, 0);
  let values = measured.reduce((sum, { size }) => sum + size.values, 0);
  for (const { server, tool, size } of measured) {
    if (bytes <= limits.bytes && values <= limits.values) break;
    bytes -= size.bytes;
    values -= size.values;
    const names = leftOut.get(server) ?? new Set();
    leftOut.set(server, names.add(tool.name));
  }
  return leftOut;
}

function measure(tool: CatalogTool): SizeLimits {
  return { bytes: Buffer.byteLength(JSON.stringify(tool)), values: countValues(tool) };
}
