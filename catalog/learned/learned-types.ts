import * as z from "zod";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { byCodeUnit, digestOf } from "../../protocol/canonical-json.ts";
import { Digest } from "../../protocol/digest.ts";
import type { JsonObject } from "../model/schema-references.ts";
import { definitionDigest, parseTool } from "../parse-tool.ts";

/** The type of a tool's results, learned from its calls because its definition declares none. */
export interface LearnedType {
  /** The number of observed calls. */
  readonly calls: number;
  /** A JSON Schema without required members. */
  readonly schema: JsonObject;
}

/** Identifies the tool that a type belongs to. The type does not apply to another server or another definition. */
export interface LearnedOf {
  /** The configured name of the server. */
  readonly server: string;
  /** The protocol name. */
  readonly tool: string;
  /** The digest of the definition. */
  readonly definition: string;
}

export type LearnedRecord = LearnedOf & LearnedType;

/** Learned types by `learnedKey`. */
export type LearnedTypes = ReadonlyMap<string, LearnedRecord>;

/** The file of learned types in the output folder. Modules are printed from it. */
export const LEARNED_FILE = "learned.json";

const LIMITS = { maxBytes: 16 * 1024 * 1024, maxDepth: 128 };

const LearnedFile = z.strictObject({
  version: z.literal(1),
  tools: z.array(
    z.strictObject({
      server: z.string(),
      tool: z.string(),
      definition: Digest,
      calls: z.int().min(1),
      schema: z.custom<JsonObject>(isObject),
    }),
  ),
});

export function learnedKey({ server, tool, definition }: LearnedOf): string {
  return JSON.stringify([server, tool, definition]);
}

/**
 * Collects learned types by their keys. Of two types of a tool, the one with more observed calls counts, or the first one if
 * they are equal.
 */
export function collectLearned(records: Iterable<LearnedRecord>): LearnedTypes {
  const types = new Map<string, LearnedRecord>();
  for (const record of records) {
    const key = learnedKey(record);
    if (record.calls > (types.get(key)?.calls ?? 0)) types.set(key, record);
  }
  return types;
}

/** Parses the text of the file, or returns `undefined` if ptc did not write it. Only hints depend on it. */
export function parseLearned(text: Uint8Array): LearnedTypes | undefined {
  try {
    return collectLearned(LearnedFile.parse(parseForeignJson(text, LIMITS)).tools);
  } catch {
    return undefined;
  }
}

/** Renders the text of the file, with one tool on each line. Equal types give equal bytes. */
export function renderLearned(types: LearnedTypes): string {
  const tools = sorted(types.values()).map(({ server, tool, definition, calls, schema }) => ({
    server,
    tool,
    definition,
    calls,
    schema,
  }));
  const lines = tools.map((tool) => JSON.stringify(tool));
  return `{"version":1,"tools":[\n${lines.join(",\n")}\n]}\n`;
}

/** Sorts by server, tool and definition. */
export function sorted<Record extends LearnedOf>(records: Iterable<Record>): Record[] {
  return [...records].sort(
    (a, b) =>
      byCodeUnit(a.server, b.server) || byCodeUnit(a.tool, b.tool) || byCodeUnit(a.definition, b.definition),
  );
}

/** The digest of the learned types of some tools, or `undefined` if there are none. */
export function learnedDigest(records: readonly LearnedRecord[]): string | undefined {
  if (records.length === 0) return undefined;
  return digestOf(
    sorted(records).map(({ tool, definition, calls, schema }) => [tool, definition, calls, schema]),
  );
}

/** The learned types of one server's tools, by protocol names, if the tools' definitions have not changed since. */
export function learnedOfServer(
  types: LearnedTypes | undefined,
  server: string,
  listed: readonly unknown[],
): ReadonlyMap<string, LearnedRecord> {
  const found = new Map<string, LearnedRecord>();
  const known = [...(types?.values() ?? [])].filter((record) => record.server === server);
  if (known.length === 0) return found;
  for (const entry of listed) {
    const definition = parseTool(entry);
    if (definition === undefined || found.has(definition.name) || !canBeLearned(definition)) continue;
    const candidates = known.filter(({ tool }) => tool === definition.name);
    if (candidates.length === 0) continue;
    const digest = definitionDigest(definition);
    const record = candidates.find((each) => each.definition === digest);
    if (record !== undefined) found.set(definition.name, record);
  }
  return found;
}

interface MaybeDeclared {
  readonly outputSchema?: unknown;
  readonly method?: string | undefined;
}

/** Whether ptc learns a tool's results: its definition does not declare its output. */
export function canBeLearned({ outputSchema, method }: MaybeDeclared): boolean {
  return outputSchema === undefined && method === undefined;
}
