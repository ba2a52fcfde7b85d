import * as z from "zod";
import { isObject } from "../../base/json/is-object.ts";
import { parseForeignJson } from "../../base/json/parse-json.ts";
import { Digest } from "../../protocol/digest.ts";
import { collectLearned, type LearnedOf, type LearnedTypes, learnedKey, sorted } from "./learned-types.ts";
import { mergeShapes } from "./merge-shapes.ts";
import { boundShape, type Shape } from "./shape.ts";
import { ShapeJson, shapeFromJson, shapeToJson } from "./shape-json.ts";
import { schemaOfShape } from "./shape-schema.ts";

/** What was observed of one tool's results. */
export interface Observed extends LearnedOf {
  readonly calls: number;
  readonly shape: Shape;
}

/** All that was observed on one machine, and how far its archive was read for that. */
export interface LearnedState {
  /** The position of the last run of the archive that was read. */
  readonly position: number;
  /** By `learnedKey`. */
  readonly observed: ReadonlyMap<string, Observed>;
}

export const NOTHING_OBSERVED: LearnedState = { position: 0, observed: new Map() };

/** Tools of which observations are kept. Of more, those with the fewest calls are dropped. */
const MAX_TOOLS = 1_000;
const LIMITS = { maxBytes: 64 * 1024 * 1024, maxDepth: 256, maxValues: 8_000_000 };

const StateFile = z.strictObject({
  version: z.literal(1),
  position: z.int().min(0),
  tools: z.array(
    z.strictObject({
      server: z.string(),
      tool: z.string(),
      definition: Digest,
      calls: z.int().min(1),
      shape: ShapeJson,
    }),
  ),
});

/** Adds the shape of one call's result. */
export function addObserved(
  observed: ReadonlyMap<string, Observed>,
  of: LearnedOf,
  shape: Shape,
): Map<string, Observed> {
  const key = learnedKey(of);
  const known = observed.get(key);
  const merged = known === undefined ? shape : mergeShapes(known.shape, shape);
  return new Map(observed).set(key, { ...of, calls: (known?.calls ?? 0) + 1, shape: boundShape(merged) });
}

/** The types of what was observed. Of results that could be anything there is none. */
export function typesOf(observed: Iterable<Observed>): LearnedTypes {
  const records = [...observed].map(({ server, tool, definition, calls, shape }) => {
    return { server, tool, definition, calls, schema: schemaOfShape(shape) };
  });
  return collectLearned(records.filter(({ schema }) => Object.keys(schema).length > 0));
}

/** Reads a state; `undefined` for a text that ptc did not write. */
export function parseState(text: Uint8Array): LearnedState | undefined {
  try {
    const { position, tools } = StateFile.parse(parseForeignJson(text, LIMITS));
    const observed = tools.map(({ shape, ...each }): Observed => ({ ...each, shape: shapeFromJson(shape) }));
    return { position, observed: new Map(observed.map((each) => [learnedKey(each), each])) };
  } catch {
    return undefined;
  }
}

/** Whether a text is the state of a ptc that is newer than this one, which is not to be replaced. */
export function isNewerState(text: Uint8Array): boolean {
  try {
    const state = parseForeignJson(text, LIMITS);
    return isObject(state) && typeof state.version === "number" && state.version > 1;
  } catch {
    return false;
  }
}

export function renderState({ position, observed }: LearnedState): string {
  const kept = [...observed.values()].sort((a, b) => b.calls - a.calls).slice(0, MAX_TOOLS);
  const tools = sorted(kept).map(({ server, tool, definition, calls, shape }) =>
    JSON.stringify({ server, tool, definition, calls, shape: shapeToJson(shape) }),
  );
  return `{"version":1,"position":${position},"tools":[\n${tools.join(",\n")}\n]}\n`;
}
