import * as z from "zod";
import { isObject, parseForeignJson } from "../../base/json.ts";
import { byCodeUnit, digestOf } from "../../protocol/canonical-json.ts";
import { Digest } from "../../protocol/digest.ts";
import type { JsonObject } from "../model/schema-references.ts";
import { definitionDigest, parseTool } from "../parse-tool.ts";

/** What is known of a tool's results from its calls, where its definition declares nothing of them. */
export interface LearnedType {
  /** How many calls it was observed in. */
  readonly calls: number;
  /** A JSON Schema without required members. */
  readonly schema: JsonObject;
}

/** The tool that something was learned of. It says nothing about a tool of another server, or with another definition. */
export interface LearnedOf {
  /** Configured name of the server. */
  readonly server: string;
  /** Protocol name. */
  readonly tool: string;
  /** Digest of the definition. */
  readonly definition: string;
}

export type LearnedRecord = LearnedOf & LearnedType;

/** Learned types by `learnedKey`. */
export type LearnedTypes = ReadonlyMap<string, LearnedRecord>;

/** The file of learned types in the output folder, which modules are printed from. */
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
 * Learned types by their keys. Of two of the same tool the one that was observed in more calls counts; of two with equally many
 * calls, the first.
 */
export function collectLearned(records: Iterable<LearnedRecord>): LearnedTypes {
  const types = new Map<string, LearnedRecord>();
  for (const record of records) {
    const key = learnedKey(record);
    if (record.calls > (types.get(key)?.calls ?? 0)) types.set(key, record);
  }
  return types;
}

/** Reads the text of the file; `undefined` for one that ptc did not write so. Nothing depends on it but hints. */
export function parseLearned(text: Uint8Array): LearnedTypes | undefined {
  try {
    return collectLearned(LearnedFile.parse(parseForeignJson(text, LIMITS)).tools);
  } catch {
    return undefined;
  }
}

/** The text of the file, a tool to a line: the same types are the same bytes. */
export function renderLearned(types: LearnedTypes): string {
  const tools = sorted(types.values()).map(({ server, tool, definition, calls, schema }) => ({
    ...{ server, tool, definition, calls, schema },
  }));
  const lines = tools.map((tool) => JSON.stringify(tool));
  return `{"version":1,"tools":[\n${lines.join(",\n")}\n]}\n`;
}

/** By server, tool and definition. */
export function sorted<Record extends LearnedOf>(records: Iterable<Record>): Record[] {
  return [...records].sort(
    (a, b) =>
      byCodeUnit(a.server, b.server) || byCodeUnit(a.tool, b.tool) || byCodeUnit(a.definition, b.definition),
  );
}

/** The digest of what was learned of some tools; `undefined` where nothing was. */
export function learnedDigest(records: readonly LearnedRecord[]): string | undefined {
  if (records.length === 0) return undefined;
  return digestOf(
    sorted(records).map(({ tool, definition, calls, schema }) => [tool, definition, calls, schema]),
  );
}

/** What was learned of tools of one server, by their protocol names, as far as their definitions are as they were then. */
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

/** Whether anything is learned of a tool: its definition says nothing of its output. */
export function canBeLearned({ outputSchema, method }: MaybeDeclared): boolean {
  return outputSchema === undefined && method === undefined;
}
