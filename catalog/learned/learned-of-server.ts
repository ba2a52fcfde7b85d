import { definitionDigest, parseTool } from "../parse-tool.ts";
import type { LearnedRecord, LearnedTypes } from "./learned-types.ts";

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
