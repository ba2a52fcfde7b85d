import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

/** Where the calls of the examples are kept, as `tests/cli/recipes.real.test.ts` has seen them. */
export const RECORDED_FILE = join(import.meta.dirname, "fixtures/recorded.json");

const Output = z.strictObject({ console: z.string(), data: z.unknown() });

const RecordedExample = z.strictObject({
  program: z.string(),
  /** The program's calls, and what a model reads of each when it makes it itself, without images. */
  calls: z.array(
    z.strictObject({
      tool: z.string(),
      arguments: z.record(z.string(), z.unknown()),
      result_tokens: z.int(),
    }),
  ),
  data: z.record(z.string(), z.unknown()),
  /** What comes back of the program. */
  output: Output,
  /** What comes back of the program that looks at a result before, where there is one. */
  looked: z.optional(Output),
});
/** What one example did when it ran with its real servers. */
export type RecordedExample = z.infer<typeof RecordedExample>;

/** What was recorded of all examples. None where nothing was recorded yet. */
export function readRecorded(): RecordedExample[] {
  if (!existsSync(RECORDED_FILE)) return [];
  return z.array(RecordedExample).parse(JSON.parse(readFileSync(RECORDED_FILE, "utf8")));
}

/** The text of the file. */
export function renderRecorded(examples: readonly RecordedExample[]): string {
  return `${JSON.stringify(examples, null, 1)}\n`;
}
