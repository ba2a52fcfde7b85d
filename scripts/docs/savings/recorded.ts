import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

/** The file with the calls of the examples, as recorded by `tests/cli/recipes.real.test.ts`. */
export const RECORDED_FILE = join(import.meta.dirname, "fixtures/recorded.json");

const Output = z.strictObject({ console: z.string(), data: z.unknown() });

const RecordedExample = z.strictObject({
  program: z.string(),
  /** The program's calls, and what a model would read of each if it made the call itself, without images. */
  calls: z.array(
    z.strictObject({
      tool: z.string(),
      arguments: z.record(z.string(), z.unknown()),
      result_tokens: z.int(),
    }),
  ),
  data: z.record(z.string(), z.unknown()),
  /** The program's output. */
  output: Output,
  /** The output of the program that looks at a result first, if there is one. */
  looked: z.optional(Output),
});
/** What one example did when it ran with its real servers. */
export type RecordedExample = z.infer<typeof RecordedExample>;

/** All recorded examples; none if nothing was recorded yet. */
export function readRecorded(): RecordedExample[] {
  if (!existsSync(RECORDED_FILE)) return [];
  return z.array(RecordedExample).parse(JSON.parse(readFileSync(RECORDED_FILE, "utf8")));
}

/** The text of the file. */
export function renderRecorded(examples: readonly RecordedExample[]): string {
  return `${JSON.stringify(examples, null, 1)}\n`;
}
